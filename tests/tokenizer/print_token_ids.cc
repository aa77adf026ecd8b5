// What our tokenizers make of texts, for the tests against Hugging Face's: each line of standard
// input is a JSON object of a directory and texts (in hexadecimal, since any bytes are text), each
// line of standard output what was made of it.
//
//   {"directory": "…", "texts": ["6869"]}
//   {"ids": [[104, 105]], "templated": [[104, 105]], "decoded": ["6869"], "prefix": [1],
//   "end_of_text": 2}
//   {"error": "…"}
//
// `templated`: where all of the text is a template's, so that markers are matched as well.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/tokenizer/tokenizer.h"

namespace submix::tokenizer {
namespace {

using nlohmann::json;

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string ToHex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return hex;
}

json Answer(const json& question) {
  const auto loaded = Tokenizer::Load(question.at("directory"));
  if (!loaded.ok()) return {{"error", std::string(loaded.status().message())}};
  const Tokenizer& tokenizer = **loaded;
  json answer = {{"ids", json::array()},
                 {"templated", json::array()},
                 {"decoded", json::array()},
                 {"prefix", tokenizer.prefix()},
                 {"end_of_text", tokenizer.end_of_text()}};
  for (const std::string hex : question.at("texts")) {
    const std::string text = FromHex(hex);
    const auto ids = tokenizer.Encode(text).value();
    answer["ids"].push_back(ids);
    answer["templated"].push_back(
        tokenizer.EncodeTemplated(text, std::vector<bool>(text.size(), true), {}).value());
    answer["decoded"].push_back(ToHex(tokenizer.Decode(ids)));
  }
  return answer;
}

}  // namespace
}  // namespace submix::tokenizer

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << submix::tokenizer::Answer(nlohmann::json::parse(line)) << std::endl;
  }
  return 0;
}
