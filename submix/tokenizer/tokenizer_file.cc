#include "submix/tokenizer/tokenizer_file.h"

#include <exception>
#include <optional>
#include <utility>

#include <simdjson.h>

#include "submix/base/file_system.h"

namespace submix::tokenizer {
namespace {

using base::Status;
using base::StatusOr;
using simdjson::dom::element;

constexpr std::size_t kLongestPiece = 4096;

class FileReader {
 public:
  FileReader(std::string path, element root) : path_(std::move(path)), root_(root) {}

  StatusOr<TokenizerFile> Read(std::shared_ptr<const void> storage) {
    simdjson::dom::object object;
    if (root_.get(object) != simdjson::SUCCESS) {
      return base::InvalidArgumentError(path_ + ": expected a JSON object");
    }
    std::string settings = "{";
    for (const auto& [name, value] : object) {
      simdjson::dom::object model;
      const bool is_model = name == "model" && value.get(model) == simdjson::SUCCESS;
      settings += base::JsonText(name) + ":";
      if (is_model) {
        SUBMIX_RETURN_IF_ERROR(TakeModel(model, settings));
      } else {
        settings += simdjson::minify(value);
      }
      settings += ",";
    }
    if (settings.ends_with(',')) settings.pop_back();
    SUBMIX_ASSIGN_OR_RETURN(base::JsonObject parsed,
                            base::JsonObject::Parse(settings + "}", path_));
    if (!vocabulary_) return FieldError("vocab", "missing");
    if (!merges_) return FieldError("merges", "missing");
    return TokenizerFile{path_, std::move(parsed), *std::move(vocabulary_), *std::move(merges_),
                         std::move(storage)};
  }

 private:
  Status FieldError(const std::string& field, const std::string& problem) const {
    return base::InvalidArgumentError(path_ + ": field \"model." + field + "\": " + problem);
  }

  // A field that is there twice is refused with the settings, which hold its name twice.
  Status TakeModel(const simdjson::dom::object& model, std::string& settings) {
    settings += "{";
    for (const auto& [name, value] : model) {
      settings += base::JsonText(name) + ":";
      if (name == "vocab") {
        SUBMIX_RETURN_IF_ERROR(TakeVocabulary(value));
        settings += "null,";
      } else if (name == "merges") {
        SUBMIX_RETURN_IF_ERROR(TakeMerges(value));
        settings += "null,";
      } else {
        settings += simdjson::minify(value) + ",";
      }
    }
    if (settings.ends_with(',')) settings.pop_back();
    settings += "}";
    return base::OkStatus();
  }

  Status TakeVocabulary(const element& value) {
    simdjson::dom::object pieces;
    if (value.get(pieces) != simdjson::SUCCESS) {
      return FieldError("vocab", "expected an object of ids (Unigram's lists are not supported)");
    }
    vocabulary_.emplace();
    vocabulary_->reserve(pieces.size());
    for (const auto& [piece, id_value] : pieces) {
      std::int64_t id = 0;
      if (id_value.get(id) != simdjson::SUCCESS) {
        return FieldError("vocab", "entry " + base::Quoted(piece) + ": expected an integer");
      }
      if (piece.empty() || piece.size() > kLongestPiece) {
        return FieldError("vocab", "entry " + base::Quoted(piece) + ": expected 1 to " +
                                       std::to_string(kLongestPiece) + " bytes");
      }
      vocabulary_->push_back({piece, id});
    }
    return base::OkStatus();
  }

  Status TakeMerges(const element& value) {
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) return FieldError("merges", "expected a list");
    merges_.emplace();
    merges_->reserve(list.size());
    for (const element& each : list) {
      const std::optional<TokenizerFile::Merge> merge = ParseMerge(each);
      if (!merge) {
        return FieldError("merges", "number " + std::to_string(merges_->size()) +
                                        ": expected \"left right\" or [\"left\", \"right\"]");
      }
      merges_->push_back(*merge);
    }
    return base::OkStatus();
  }

  static std::optional<TokenizerFile::Merge> ParseMerge(const element& value) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      const std::size_t space = text.find(' ');
      if (space == std::string_view::npos || space != text.rfind(' ')) return std::nullopt;
      return TokenizerFile::Merge{text.substr(0, space), text.substr(space + 1)};
    }
    simdjson::dom::array pair;
    TokenizerFile::Merge merge;
    if (value.get(pair) != simdjson::SUCCESS || pair.size() != 2) return std::nullopt;
    if (pair.at(0).get(merge.left) != simdjson::SUCCESS) return std::nullopt;
    if (pair.at(1).get(merge.right) != simdjson::SUCCESS) return std::nullopt;
    return merge;
  }

  std::string path_;
  element root_;
  std::optional<std::vector<TokenizerFile::Entry>> vocabulary_;
  std::optional<std::vector<TokenizerFile::Merge>> merges_;
};

}  // namespace

StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  try {
    const auto parser = std::make_shared<simdjson::dom::parser>();
    element root;
    if (const auto error = parser->parse(text).get(root); error != simdjson::SUCCESS) {
      return base::InvalidArgumentError(path +
                                        ": not valid JSON: " + simdjson::error_message(error));
    }
    return FileReader(path, root).Read(parser);
  } catch (const std::exception& error) {
    return base::InternalError(path + ": reading JSON failed: " + error.what());
  }
}

}  // namespace submix::tokenizer
