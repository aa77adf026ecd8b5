#include "submix/server/admission.h"

#include <optional>

#include <gmock/gmock.h>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace admission_test {

using testing::HasSubstr;

TEST(Admission, TheSchemeOfAKeyIsReadAsTheStandardHasIt) {
  for (const char* field :
       {"Bearer key", "bearer key", "BEARER key", "bEaReR key", "Bearer   key", "bearer  key"}) {
    EXPECT_EQ(BearerKey(field), "key") << field;
  }
  EXPECT_EQ(BearerKey("Bearer a b, Bearer c"), "a b, Bearer c") << "no key of ours is like this";
  for (const char* field : {"", "Bearer", "Bearer ", "Bearer   ", "Bearerkey", "Bearer\tkey", "key",
                            " Bearer key", "Basic key", "Bearers key"}) {
    EXPECT_EQ(BearerKey(field), std::nullopt) << field;
  }
}

// DNS rebinding, and forms of other origins (no preflight).
TEST(Admission, WithoutKeysOnlyOwnNamesAndJsonAreServed) {
  ServedEngineOptions options;
  options.http.allowed_hosts = {"llm.example"};
  ServedEngine served(options);
  const auto ask = [&](const std::string& host, const std::string& type) {
    return Ask(served.port(), "POST /v1/completions HTTP/1.1\r\nHost: " + host +
                                  "\r\nConnection: close\r\n" + type +
                                  "Content-Length: " + std::to_string(CompletionBody().size()) +
                                  "\r\n\r\n" + CompletionBody());
  };
  const std::string json_type = "Content-Type: Application/JSON; charset=utf-8\r\n";
  for (const char* host :
       {"localhost", "LOCALHOST:81", "127.0.0.1:8080", "[::1]", "[::1]:9", "llm.example:443"}) {
    EXPECT_EQ(ask(host, json_type).status, 200) << host;
  }
  const int charged = served.watched.ledger.releases;
  for (const char* host : {"", "rebound.evil.example", "localhost.evil.example", "127.0.0.2",
                           "evil.example:8080", "[::2]"}) {
    const RawAnswer answer = ask(host, json_type);
    EXPECT_EQ(answer.status, 421) << host;
    EXPECT_THAT(answer.body, HasSubstr("server.allowed_hosts"));
  }
  for (const char* type : {"", "Content-Type: text/plain\r\n", "Content-Type: \r\n",
                           "Content-Type: application/x-www-form-urlencoded\r\n",
                           "Content-Type: application/jsonp\r\n",
                           "Content-Type: application/json\r\nContent-Type: text/plain\r\n"}) {
    const RawAnswer answer = ask("localhost", type);
    EXPECT_EQ(answer.status, 415) << type;
    EXPECT_THAT(answer.body, HasSubstr("Content-Type: application/json"));
  }
  EXPECT_EQ(served.watched.ledger.releases, charged);
  EXPECT_EQ(
      Ask(served.port(), "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").status,
      200);
}

}  // namespace admission_test
}  // namespace submix::server
