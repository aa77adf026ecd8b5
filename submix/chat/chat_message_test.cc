#include "submix/chat/chat_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::chat {
namespace chat_message_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

base::StatusOr<std::vector<ChatMessage>> Read(const std::string& messages) {
  SUBMIX_ASSIGN_OR_RETURN(const auto record,
                          base::JsonObject::Parse("{\"messages\": " + messages + "}", "a file"));
  return ReadConversation(record);
}

TEST(ReadConversation, RolesAndContentsAreRead) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto conversation,
      Read(R"([{"role": "developer", "content": "s", "name": "n", "tool_calls": null},
               {"content": [{"type": "text", "text": "q"}, {"text": "r", "type": "text"}],
                "role": "user"},
               {"role": "assistant", "content": "a"}, {"role": "system", "content": " "}])"));
  EXPECT_THAT(
      conversation,
      ElementsAre(ChatMessage{ChatRole::kSystem, "s"}, ChatMessage{ChatRole::kUser, "qr"},
                  ChatMessage{ChatRole::kAssistant, "a"}, ChatMessage{ChatRole::kSystem, " "}));
}

TEST(ReadConversation, WhatIsNoConversationIsRefusedByTheNumberOfItsMessage) {
  const std::string answer = R"(, {"role": "assistant", "content": "secret"}])";
  const std::pair<std::string, std::string> cases[] = {
      {"\"secret\"", "not a list of objects"},
      {"{}", "not a list of objects"},
      {"[\"secret\"]", "not a list of objects"},
      {"[]", "no answer"},
      {R"([{"role": "user", "content": "secret"}])", "no answer"},
      {R"([{"role": "user"})" + answer, "message 1 of \"messages\" has no content"},
      {R"([{"role": "user", "content": null})" + answer,
       "message 1 of \"messages\" has no content"},
      {R"([{"role": "user", "content": 7})" + answer, "has no content"},
      {R"([{"role": "user", "content": ["secret"]})" + answer, "has no content"},
      {R"([{"role": "user", "content": [{"type": "image_url", "text": "secret"}]})" + answer,
       "has no content"},
      {R"([{"role": "user", "content": ""})" + answer, "message 1 of \"messages\" is empty"},
      {R"([{"role": "user", "content": []})" + answer, "is empty"},
      {R"([{"content": "secret"})" + answer, "has no role"},
      {R"([{"role": "secret", "content": "x"})" + answer, "has no role"},
      {R"([{"role": 1, "content": "x"})" + answer, "has no role"},
      {R"([{"role": "assistant", "content": "x", "tool_calls": [{"id": "1"}]})" + answer,
       "calls a tool"},
      {R"([{"role": "assistant", "content": "x", "weight": 0})" + answer, "has a weight"},
      {R"([{"role": "user", "content": "x"}, 3)" + answer, "not a list of objects"},
  };
  for (const auto& [messages, reason] : cases) {
    EXPECT_THAT(Read(messages), StatusIs(StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr(reason), Not(HasSubstr("secret")))))
        << messages;
  }
}

}  // namespace chat_message_test
}  // namespace submix::chat
