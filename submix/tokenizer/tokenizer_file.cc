#include "submix/tokenizer/tokenizer_file.h"

#include <algorithm>
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

// The entries of a vocabulary. `place` opens every error.
StatusOr<std::vector<TokenizerFile::Entry>> ReadEntries(const element& value,
                                                        const std::string& place) {
  simdjson::dom::object pieces;
  if (value.get(pieces) != simdjson::SUCCESS) {
    return base::InvalidArgumentError(
        place + ": expected an object of ids (Unigram's lists are not supported)");
  }
  std::vector<TokenizerFile::Entry> entries;
  entries.reserve(pieces.size());
  for (const auto& [piece, id_value] : pieces) {
    std::int64_t id = 0;
    std::string problem;
    if (id_value.get(id) != simdjson::SUCCESS) problem = "an integer";
    if (piece.empty() || piece.size() > kLongestPiece) {
      problem = "1 to " + std::to_string(kLongestPiece) + " bytes";
    }
    if (!problem.empty()) {
      return base::InvalidArgumentError(place + ": entry " + base::Quoted(piece) + ": expected " +
                                        problem);
    }
    entries.push_back({piece, id});
  }
  return entries;
}

// "left right".
std::optional<TokenizerFile::Merge> MergeOfText(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space != text.rfind(' ')) return std::nullopt;
  return TokenizerFile::Merge{text.substr(0, space), text.substr(space + 1)};
}

std::optional<TokenizerFile::Merge> MergeOf(const element& value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return MergeOfText(text);
  simdjson::dom::array pair;
  TokenizerFile::Merge merge;
  if (value.get(pair) != simdjson::SUCCESS || pair.size() != 2) return std::nullopt;
  if (pair.at(0).get(merge.left) != simdjson::SUCCESS) return std::nullopt;
  if (pair.at(1).get(merge.right) != simdjson::SUCCESS) return std::nullopt;
  return merge;
}

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
    for (const auto& [is_there, name] :
         {std::pair(vocabulary_.has_value(), "vocab"), std::pair(merges_.has_value(), "merges")}) {
      if (!is_there) return base::InvalidArgumentError(Place(name) + ": missing");
    }
    return TokenizerFile{std::move(parsed),
                         *std::move(vocabulary_),
                         *std::move(merges_),
                         Place("vocab"),
                         MergesPlace(),
                         std::move(storage),
                         false};
  }

 private:
  std::string Place(const std::string& field) const {
    return path_ + ": field \"model." + field + "\"";
  }
  std::string MergesPlace() const { return Place("merges") + ": number "; }

  // A field that is there twice is refused with the settings, which hold its name twice.
  Status TakeModel(const simdjson::dom::object& model, std::string& settings) {
    settings += "{";
    for (const auto& [name, value] : model) {
      settings += base::JsonText(name) + ":";
      if (name == "vocab") {
        SUBMIX_ASSIGN_OR_RETURN(vocabulary_, ReadEntries(value, Place("vocab")));
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

  Status TakeMerges(const element& value) {
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
      return base::InvalidArgumentError(Place("merges") + ": expected a list");
    }
    merges_.emplace();
    merges_->reserve(list.size());
    for (const element& each : list) {
      std::optional<TokenizerFile::Merge> merge = MergeOf(each);
      if (!merge) {
        return base::InvalidArgumentError(MergesPlace() + std::to_string(merges_->size()) +
                                          ": expected \"left right\" or [\"left\", \"right\"]");
      }
      merge->number = merges_->size();
      merges_->push_back(*merge);
    }
    return base::OkStatus();
  }

  std::string path_;
  element root_;
  std::optional<std::vector<TokenizerFile::Entry>> vocabulary_;
  std::optional<std::vector<TokenizerFile::Merge>> merges_;
};

StatusOr<std::vector<TokenizerFile::Merge>> ReadMergeLines(std::string_view text,
                                                           const std::string& path) {
  std::vector<TokenizerFile::Merge> merges;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    std::optional<TokenizerFile::Merge> merge = MergeOfText(line);
    if (!merge) {
      return base::InvalidArgumentError(path + ":" + std::to_string(number) +
                                        ": expected two tokens with one space between them");
    }
    merge->number = number;
    merges.push_back(*merge);
  }
  return merges;
}

// What transformers' GPT-2 says of text.
constexpr std::string_view kGpt2Settings =
    R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
    R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE"}})";

// Calls `read` with the document. `parser` keeps what it looks into.
template <typename Read>
StatusOr<TokenizerFile> WithDocument(const std::string& path, simdjson::dom::parser& parser,
                                     const Read& read) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  try {
    element root;
    if (const auto error = parser.parse(text).get(root); error != simdjson::SUCCESS) {
      return base::InvalidArgumentError(path +
                                        ": not valid JSON: " + simdjson::error_message(error));
    }
    return read(root);
  } catch (const std::exception& error) {
    return base::InternalError(path + ": reading JSON failed: " + error.what());
  }
}

}  // namespace

StatusOr<std::string> ReadText(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(std::string text, base::ReadFile(path));
  if (text.starts_with("\xef\xbb\xbf")) {
    return base::InvalidArgumentError(
        path + ": begins with a byte-order mark; save it as UTF-8 without one");
  }
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    return base::InvalidArgumentError(path +
                                      ": a pointer of git-lfs, not the file; run `git lfs pull`");
  }
  return text;
}

StatusOr<base::JsonObject> ReadJson(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return base::JsonObject::Parse(text, path);
}

StatusOr<TokenizerFile> ReadTokenizerFile(const std::string& path) {
  const auto parser = std::make_shared<simdjson::dom::parser>();
  return WithDocument(path, *parser,
                      [&](const element& root) { return FileReader(path, root).Read(parser); });
}

StatusOr<TokenizerFile> ReadVocabularyFiles(const std::string& directory) {
  struct Storage {
    simdjson::dom::parser parser;
    std::string merges;
  };
  const auto storage = std::make_shared<Storage>();
  const std::string vocabulary_path = base::JoinPath(directory, "vocab.json");
  const std::string merges_path = base::JoinPath(directory, "merges.txt");
  SUBMIX_ASSIGN_OR_RETURN(storage->merges, ReadText(merges_path));
  return WithDocument(
      vocabulary_path, storage->parser, [&](const element& root) -> StatusOr<TokenizerFile> {
        SUBMIX_ASSIGN_OR_RETURN(auto settings,
                                base::JsonObject::Parse(kGpt2Settings, vocabulary_path));
        SUBMIX_ASSIGN_OR_RETURN(auto vocabulary, ReadEntries(root, vocabulary_path));
        SUBMIX_ASSIGN_OR_RETURN(auto merges, ReadMergeLines(storage->merges, merges_path));
        return TokenizerFile{std::move(settings),
                             std::move(vocabulary),
                             std::move(merges),
                             vocabulary_path,
                             merges_path + ":",
                             storage,
                             true};
      });
}

}  // namespace submix::tokenizer
