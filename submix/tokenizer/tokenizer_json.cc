// ReadTokenizerJson of byte_pair_tokenizer.h.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"
#include "submix/tokenizer/characters.h"
#include "submix/tokenizer/text_pipeline.h"
#include "submix/tokenizer/tokenizer_file.h"

namespace submix::tokenizer {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;
using base::TokenId;

// What an entry of the vocabulary is for.
enum class EntryKind { kMissing, kPiece, kAddedPiece, kAdded, kSpecial };

// The byte that "<0x0A>" stands for.
std::optional<std::uint8_t> ByteOfPiece(std::string_view piece) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  const std::size_t high = kDigits.find(piece[3]);
  const std::size_t low = kDigits.find(piece[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint8_t>(16 * high + low);
}

Status CheckModel(const JsonObject& settings) {
  SUBMIX_RETURN_IF_ERROR(
      CheckFields(settings, {"version", "truncation", "padding", "added_tokens", "normalizer",
                             "pre_tokenizer", "post_processor", "decoder", "model"}));
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject model, settings.Object("model"));
  SUBMIX_RETURN_IF_ERROR(CheckFields(
      model, {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
              "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  std::string type = "BPE";  // older files do not say
  SUBMIX_RETURN_IF_ERROR(model.ReadIfPresent("type", type));
  if (type != "BPE") {
    return model.FieldError("type", base::Quoted(type) + " is not supported, only BPE is");
  }
  for (const char* field : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.IsOff(field)) return model.FieldError(field, "is not supported; expected null");
  }
  return base::OkStatus();
}

// Brings together what the file says, each part once, in the order of the functions.
class PartsReader {
 public:
  explicit PartsReader(const TokenizerFile& file) : file_(file) {}

  StatusOr<BytePairParts> Read(const std::string& directory) {
    SUBMIX_RETURN_IF_ERROR(CheckModel(file_.settings));
    SUBMIX_RETURN_IF_ERROR(ReadText());
    SUBMIX_RETURN_IF_ERROR(ReadVocabulary());
    SUBMIX_RETURN_IF_ERROR(ReadAddedTokens());
    SUBMIX_RETURN_IF_ERROR(ReadBytesOfTokens());
    SUBMIX_RETURN_IF_ERROR(ReadMerges());
    SUBMIX_ASSIGN_OR_RETURN(parts_.prefix,
                            ReadPrefix(file_.settings, static_cast<int>(pieces_.size())));
    SUBMIX_RETURN_IF_ERROR(ReadEndOfText(base::JoinPath(directory, "tokenizer_config.json")));
    return std::move(parts_);
  }

 private:
  Status Error(const std::string& field, const std::string& problem) const {
    return file_.settings.FieldError(field, problem);
  }
  EntryKind& KindOf(TokenId id) { return kinds_[static_cast<std::size_t>(id)]; }
  bool IsSpecial(TokenId id) { return KindOf(id) == EntryKind::kSpecial; }

  Status ReadText() {
    SUBMIX_ASSIGN_OR_RETURN(WordsRule words, ReadWordsRule(file_.settings));
    SUBMIX_ASSIGN_OR_RETURN(decoding_, ReadDecodingRule(file_.settings));
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject model, file_.settings.Object("model"));
    is_byte_level_ = words.is_byte_level;
    bool byte_fallback = false;
    SUBMIX_RETURN_IF_ERROR(model.ReadIfPresent("byte_fallback", byte_fallback));
    SUBMIX_RETURN_IF_ERROR(model.ReadIfPresent("ignore_merges", parts_.ignore_merges));
    if (decoding_.is_byte_level != is_byte_level_) {
      return Error("decoder", "expected ByteLevel if and only if the pre-tokenizer is");
    }
    if (!is_byte_level_ && !(byte_fallback && decoding_.has_byte_fallback)) {
      return Error("model.byte_fallback",
                   "expected true, and a decoder ByteFallback, or ByteLevel: else text is lost");
    }
    if (!is_byte_level_ && parts_.ignore_merges) {
      return Error("model.ignore_merges", "is not supported without ByteLevel");
    }
    parts_.normalizer = Normalizer(std::move(words.steps));
    parts_.word_normalizer = Normalizer(std::move(words.word_steps));
    parts_.pre_tokenizer = PreTokenizer(std::move(words.splits));
    parts_.stripped_spaces = decoding_.stripped_spaces;
    parts_.first_piece_loses_spaces = decoding_.first_piece_loses_spaces;
    return base::OkStatus();
  }

  Status ReadVocabulary() {
    if (file_.settings.Has("added_tokens")) {
      SUBMIX_ASSIGN_OR_RETURN(added_, file_.settings.Objects("added_tokens"));
    }
    const std::size_t most = file_.vocabulary.size() + added_.size();
    index_.emplace(file_.vocabulary.size());
    kinds_.resize(most);
    pieces_.resize(most);
    for (const TokenizerFile::Entry& entry : file_.vocabulary) {
      const auto id = static_cast<std::size_t>(entry.id);
      const bool is_free = entry.id >= 0 && id < most && kinds_[id] == EntryKind::kMissing;
      if (!is_free || !index_->Add(entry.piece, static_cast<TokenId>(id))) {
        return Error("model.vocab", "entry " + base::Quoted(entry.piece) +
                                        ": expected ids 0 .. V-1 and pieces, each once");
      }
      kinds_[id] = EntryKind::kPiece;
      pieces_[id] = entry.piece;
    }
    return base::OkStatus();
  }

  Status ReadAddedTokens() {
    for (const JsonObject& token : added_) SUBMIX_RETURN_IF_ERROR(ReadAddedToken(token));
    const auto end = std::ranges::find(kinds_, EntryKind::kMissing);
    if (std::any_of(end, kinds_.end(),
                    [](EntryKind kind) { return kind != EntryKind::kMissing; })) {
      return Error("model.vocab", "no entry has the id " + std::to_string(end - kinds_.begin()));
    }
    kinds_.erase(end, kinds_.end());
    pieces_.resize(kinds_.size());
    return PrepareMatching();
  }

  Status ReadAddedToken(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(
        object, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    AddedToken token;
    SUBMIX_ASSIGN_OR_RETURN(token.content, object.Text("content"));
    SUBMIX_ASSIGN_OR_RETURN(token.id, object.Int("id", 0, static_cast<int>(kinds_.size()) - 1));
    SUBMIX_ASSIGN_OR_RETURN(token.is_special, object.Boolean("special"));
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("single_word", token.is_single_word));
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("lstrip", token.strips_left));
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("rstrip", token.strips_right));
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("normalized", token.is_normalized));
    if (token.content.empty()) return object.FieldError("content", "must not be empty");
    const std::optional<TokenId> of_piece = index_->Find(token.content);
    const bool fits = of_piece ? *of_piece == token.id && KindOf(token.id) == EntryKind::kPiece
                               : KindOf(token.id) == EntryKind::kMissing;
    if (!fits || parts_.added_tokens.contains(token.content)) {
      return object.FieldError("id", "the id or the content is another entry's");
    }
    KindOf(token.id) = token.is_special ? EntryKind::kSpecial
                       : of_piece       ? EntryKind::kAddedPiece
                                        : EntryKind::kAdded;
    const auto added = parts_.added_tokens.emplace(token.content, token).first;
    pieces_[static_cast<std::size_t>(token.id)] = added->first;
    return base::OkStatus();
  }

  // Which contents are looked for in the text as it is, and which in normalized text.
  Status PrepareMatching() {
    std::vector<AddedToken> literals;
    std::map<std::string, AddedToken> normalized_literals;
    for (const auto& [content, token] : parts_.added_tokens) {
      if (!token.is_normalized) {
        literals.push_back(token);
        continue;
      }
      AddedToken normalized = token;
      normalized.content = parts_.normalizer.Apply(content, true);
      const bool is_one = !normalized.content.empty() &&
                          normalized_literals.emplace(normalized.content, normalized).second;
      if (is_one) continue;
      return Error("added_tokens", base::Quoted(content) +
                                       ": nothing or another added token is left of it after "
                                       "normalization");
    }
    std::vector<AddedToken> ordered;
    for (auto& [content, token] : normalized_literals) ordered.push_back(std::move(token));
    parts_.literals = AddedTokens(std::move(literals));
    parts_.normalized_literals = AddedTokens(std::move(ordered));
    return base::OkStatus();
  }

  Status ReadBytesOfTokens() {
    parts_.bytes_of_token.resize(pieces_.size());
    parts_.is_word.resize(pieces_.size());
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      const EntryKind kind = kinds_[id];
      if (kind == EntryKind::kSpecial) continue;
      // What is spelt for bytes is no shorter.
      parts_.longest_piece_bytes = std::max(parts_.longest_piece_bytes, pieces_[id].size());
      if (kind != EntryKind::kAdded) {
        SUBMIX_RETURN_IF_ERROR(ReadBytesOfPiece(static_cast<TokenId>(id)));
      }
      if (kind != EntryKind::kPiece) parts_.bytes_of_token[id] = BytesOfAddedToken(pieces_[id]);
    }
    const auto missing = std::ranges::find(has_byte_, false);
    if (missing == has_byte_.end()) return base::OkStatus();
    return Error("model.vocab", "no entry for byte " + std::to_string(missing - has_byte_.begin()));
  }

  // Of an entry that merges may make.
  Status ReadBytesOfPiece(TokenId token) {
    const auto id = static_cast<std::size_t>(token);
    const std::string_view piece = pieces_[id];
    const bool is_added = kinds_[id] == EntryKind::kAddedPiece;
    std::optional<std::string> bytes =
        is_byte_level_ ? BytesOfSpelling(piece) : BytesOfTextPiece(piece, token);
    if (!bytes) {
      if (is_added) return base::OkStatus();
      return Error("model.vocab", "entry " + base::Quoted(piece) +
                                      ": expected characters of GPT-2's byte alphabet");
    }
    const bool is_byte = is_byte_level_ ? bytes->size() == 1 : ByteOfPiece(piece).has_value();
    if (is_byte) NoteByte(static_cast<unsigned char>(bytes->front()), token);
    parts_.is_word[id] = !is_added || *bytes == piece;
    parts_.bytes_of_token[id] = *std::move(bytes);
    return base::OkStatus();
  }

  void NoteByte(unsigned char byte, TokenId token) {
    has_byte_[byte] = true;
    parts_.token_of_byte[byte] = token;
  }

  // With byte fallback. A piece of a single character is noted.
  std::string BytesOfTextPiece(std::string_view piece, TokenId token) {
    if (const auto byte = ByteOfPiece(piece)) return std::string(1, static_cast<char>(*byte));
    const Character first = CharacterAt(piece, 0);
    if (first.size == piece.size()) parts_.token_of_character.emplace(first.code_point, token);
    return WithoutReplacements(piece);
  }

  // One that matches in normalized text may have taken more than its content: a space before it.
  std::string BytesOfAddedToken(std::string_view content) const {
    const auto token = parts_.added_tokens.find(content);
    std::string bytes(content);
    if (token->second.is_normalized) bytes = parts_.normalizer.Apply(content, true);
    return is_byte_level_ ? bytes : WithoutReplacements(bytes);
  }

  std::string WithoutReplacements(std::string_view piece) const {
    std::string bytes(piece);
    for (const Normalizer::Replace& replace : decoding_.replaces) {
      bytes = ReplaceAll(bytes, replace.pattern, replace.content);
    }
    return bytes;
  }

  Status ReadMerges() {
    parts_.merges = BytePairMerges(file_.merges.size());
    if (!is_byte_level_) parts_.boundaries.emplace(file_.merges.size());
    std::string joined;
    for (std::size_t rank = 0; rank < file_.merges.size(); ++rank) {
      const auto& [left, right] = file_.merges[rank];
      joined.assign(left).append(right);
      std::array<TokenId, 3> ids{};
      const std::array<std::string_view, 3> texts = {left, right, joined};
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::optional<TokenId> id = index_->Find(texts[i]);
        if (!id) return MergeError(rank, base::Quoted(texts[i]) + " is not in the vocabulary");
        ids[i] = *id;
      }
      if (std::ranges::any_of(ids, [this](TokenId id) { return IsSpecial(id); })) continue;
      const auto is_byte = [](std::string_view text) { return ByteOfPiece(text).has_value(); };
      if (!is_byte_level_ && std::ranges::any_of(texts, is_byte)) {
        return MergeError(rank, "a byte's entry must not come of text");
      }
      if (!parts_.merges.Add(ids[0], ids[1], {static_cast<std::int32_t>(rank), ids[2]})) {
        return MergeError(rank, "stands in the list twice");
      }
      if (parts_.boundaries) parts_.boundaries->AddMerge(left, right);
    }
    return base::OkStatus();
  }

  Status MergeError(std::size_t rank, const std::string& problem) const {
    return Error("model.merges", "number " + std::to_string(rank) + ": " + problem);
  }

  Status ReadEndOfText(const std::string& config_path) {
    std::string name;
    if (base::FileExists(config_path)) {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject config, JsonObject::Load(config_path));
      if (config.IsText("eos_token") || !config.Has("eos_token")) {
        SUBMIX_RETURN_IF_ERROR(config.ReadIfPresent("eos_token", name));
      } else {
        SUBMIX_ASSIGN_OR_RETURN(const JsonObject token, config.Object("eos_token"));
        SUBMIX_ASSIGN_OR_RETURN(name, token.Text("content"));
      }
      if (!name.empty() && !IsNameOfSpecial(name)) {
        return config.FieldError("eos_token",
                                 base::Quoted(name) + " is no special token of tokenizer.json");
      }
    }
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"}) {
      if (name.empty() && IsNameOfSpecial(usual)) name = usual;
    }
    if (name.empty()) {
      return Error("added_tokens",
                   "no end of text is known; name one as eos_token in " + config_path);
    }
    parts_.end_of_text = parts_.added_tokens.find(name)->second.id;
    return base::OkStatus();
  }

  bool IsNameOfSpecial(std::string_view content) const {
    const auto token = parts_.added_tokens.find(content);
    return token != parts_.added_tokens.end() && token->second.is_special;
  }

  const TokenizerFile& file_;
  DecodingRule decoding_;
  bool is_byte_level_ = false;
  std::array<bool, 256> has_byte_{};
  std::vector<JsonObject> added_;
  std::optional<PieceIndex> index_;       // of the model's vocabulary, as the file spells it
  std::vector<EntryKind> kinds_;          // index = id
  std::vector<std::string_view> pieces_;  // as the file spells them, index = id
  BytePairParts parts_;
};

}  // namespace

StatusOr<BytePairParts> ReadTokenizerJson(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(const TokenizerFile file,
                          ReadTokenizerFile(base::JoinPath(directory, "tokenizer.json")));
  return PartsReader(file).Read(directory);
}

}  // namespace submix::tokenizer
