// Writes conversations as trainings read them, for conversations_test.py: lines of JSON in, as many
// out.
//   {"directory": a model's, "messages": […]}
//   {"tokens": […], "counts": [true, …]} or {"error": "…"}
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "submix/base/json_object.h"
#include "submix/chat/chat_message.h"
#include "submix/corpus/record_encoder.h"
#include "submix/tokenizer/tokenizer.h"

namespace {

using nlohmann::json;
using submix::base::StatusOr;
namespace corpus = submix::corpus;

struct Model {
  std::unique_ptr<submix::tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<corpus::RecordEncoder> encoder;
};

StatusOr<corpus::EncodedRecord> Write(const std::string& line, const std::string& directory) {
  static std::map<std::string, Model> models;
  Model& model = models[directory];
  if (model.encoder == nullptr) {
    SUBMIX_ASSIGN_OR_RETURN(model.tokenizer, submix::tokenizer::Tokenizer::Load(directory));
    model.encoder = std::make_unique<corpus::RecordEncoder>(*model.tokenizer, directory,
                                                            corpus::Loss::kAnswers);
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto object, submix::base::JsonObject::Parse(line, "line"));
  corpus::UserRecord record;
  SUBMIX_ASSIGN_OR_RETURN(record.messages, submix::chat::ReadConversation(object));
  return model.encoder->Encode(record);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto record = Write(line, json::parse(line).at("directory").get<std::string>());
    json answer;
    if (record.ok()) {
      for (const corpus::StreamToken token : record->tokens) {
        answer["tokens"].push_back(corpus::IdOf(token));
        answer["counts"].push_back(corpus::IsCounted(token));
      }
    } else {
      answer["error"] = record.status().message();
    }
    std::cout << answer.dump() << std::endl;
  }
}
