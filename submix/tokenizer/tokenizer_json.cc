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
enum class EntryKind { kMissing, kPiece, kLiteral, kMarker, kSpecialMarker };

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
  for (const char* field : {"truncation", "padding"}) {
    if (settings.Has(field)) {
      return settings.FieldError(field, "would change texts; expected null");
    }
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
  bool IsMarker(TokenId id) { return KindOf(id) >= EntryKind::kMarker; }

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
    std::vector<LiteralEntries::Entry> literals;
    for (const JsonObject& token : added_) SUBMIX_RETURN_IF_ERROR(ReadAddedToken(token, literals));
    const auto end = std::ranges::find(kinds_, EntryKind::kMissing);
    if (std::any_of(end, kinds_.end(),
                    [](EntryKind kind) { return kind != EntryKind::kMissing; })) {
      return Error("model.vocab", "no entry has the id " + std::to_string(end - kinds_.begin()));
    }
    kinds_.erase(end, kinds_.end());
    pieces_.resize(kinds_.size());
    parts_.literals = LiteralEntries(std::move(literals));
    return base::OkStatus();
  }

  Status ReadAddedToken(const JsonObject& token, std::vector<LiteralEntries::Entry>& literals) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(
        token, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    SUBMIX_ASSIGN_OR_RETURN(const std::string content, token.Text("content"));
    SUBMIX_ASSIGN_OR_RETURN(const int id, token.Int("id", 0, static_cast<int>(kinds_.size()) - 1));
    SUBMIX_ASSIGN_OR_RETURN(const bool is_special, token.Boolean("special"));
    if (content.empty()) return token.FieldError("content", "must not be empty");
    const std::optional<TokenId> of_piece = index_->Find(content);
    const bool fits = of_piece ? *of_piece == id && KindOf(id) == EntryKind::kPiece
                               : KindOf(id) == EntryKind::kMissing;
    if (!fits || parts_.markers.contains(content)) {
      return token.FieldError("id", "the id or the content is another entry's");
    }
    if (!is_special && of_piece) {
      for (const char* field : {"single_word", "lstrip", "rstrip", "normalized"}) {
        if (!token.IsOff(field) &&
            !(field == std::string_view("normalized") && parts_.normalizer.is_identity())) {
          return token.FieldError(field, "is not supported for a token that is not special");
        }
      }
      KindOf(id) = EntryKind::kLiteral;
      literals.push_back({content, id});
      return base::OkStatus();
    }
    KindOf(id) = is_special ? EntryKind::kSpecialMarker : EntryKind::kMarker;
    const auto marker = parts_.markers.emplace(content, id).first;
    pieces_[static_cast<std::size_t>(id)] = marker->first;
    return base::OkStatus();
  }

  Status ReadBytesOfTokens() {
    std::array<bool, 256> has_byte{};
    parts_.bytes_of_token.resize(pieces_.size());
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      if (kinds_[id] == EntryKind::kSpecialMarker) continue;
      std::string& bytes = parts_.bytes_of_token[id];
      if (kinds_[id] != EntryKind::kMarker) {  // what is spelt for bytes is no shorter
        parts_.longest_piece_bytes = std::max(parts_.longest_piece_bytes, pieces_[id].size());
      }
      if (kinds_[id] != EntryKind::kPiece) {
        bytes = is_byte_level_ ? std::string(pieces_[id]) : WithoutReplacements(pieces_[id]);
        continue;
      }
      const auto token = static_cast<TokenId>(id);
      SUBMIX_ASSIGN_OR_RETURN(
          bytes, is_byte_level_ ? BytesOfSpeltPiece(pieces_[id]) : BytesOfTextPiece(token));
      const bool is_byte =
          is_byte_level_ ? bytes.size() == 1 : ByteOfPiece(pieces_[id]).has_value();
      if (!is_byte) continue;
      const auto byte = static_cast<unsigned char>(bytes[0]);
      has_byte[byte] = true;
      parts_.token_of_byte[byte] = token;
    }
    const auto missing = std::ranges::find(has_byte, false);
    if (missing == has_byte.end()) return base::OkStatus();
    return Error("model.vocab", "no entry for byte " + std::to_string(missing - has_byte.begin()));
  }

  StatusOr<std::string> BytesOfSpeltPiece(std::string_view piece) const {
    std::optional<std::string> bytes = BytesOfSpelling(piece);
    if (bytes) return *std::move(bytes);
    return Error("model.vocab",
                 "entry " + base::Quoted(piece) + ": expected characters of GPT-2's byte alphabet");
  }

  // With byte fallback. A piece of a single character is noted.
  StatusOr<std::string> BytesOfTextPiece(TokenId token) {
    const std::string_view piece = pieces_[static_cast<std::size_t>(token)];
    if (const auto byte = ByteOfPiece(piece)) return std::string(1, static_cast<char>(*byte));
    const Character first = CharacterAt(piece, 0);
    if (first.size == piece.size()) parts_.token_of_character.emplace(first.code_point, token);
    return WithoutReplacements(piece);
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
      if (std::ranges::any_of(ids, [this](TokenId id) { return IsMarker(id); })) continue;
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
      if (!name.empty() && !parts_.markers.contains(name)) {
        return config.FieldError("eos_token",
                                 base::Quoted(name) + " is no special token of tokenizer.json");
      }
    }
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"}) {
      if (name.empty() && parts_.markers.contains(usual)) name = usual;
    }
    if (name.empty()) {
      return Error("added_tokens",
                   "no end of text is known; name one as eos_token in " + config_path);
    }
    parts_.end_of_text = parts_.markers.find(name)->second;
    return base::OkStatus();
  }

  const TokenizerFile& file_;
  DecodingRule decoding_;
  bool is_byte_level_ = false;
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
