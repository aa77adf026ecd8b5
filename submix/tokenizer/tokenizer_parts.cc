// ReadParts of byte_pair_tokenizer.h.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"
#include "submix/tokenizer/characters.h"
#include "submix/tokenizer/text_pipeline.h"
#include "submix/tokenizer/token_declarations.h"
#include "submix/tokenizer/tokenizer_file.h"

namespace submix::tokenizer {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;
using base::TokenId;

// What an entry of the vocabulary is for.
enum class EntryKind { kPiece, kAddedPiece, kAdded, kSpecial };

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

bool IsOneCharacter(std::string_view content) {
  return CharacterAt(content, 0).size == content.size();
}

bool HasSameFlags(const AddedToken& a, const AddedToken& b) {
  const auto flags = [](const AddedToken& token) {
    return std::tuple(token.is_special, token.is_single_word, token.strips_left, token.strips_right,
                      token.is_normalized);
  };
  return flags(a) == flags(b);
}

// Brings together what the files say, each part once, in the order of the functions.
class PartsReader {
 public:
  explicit PartsReader(const TokenizerFile& file) : file_(file) {}

  StatusOr<BytePairParts> Read(const std::string& directory) {
    SUBMIX_RETURN_IF_ERROR(CheckModel(file_.settings));
    SUBMIX_RETURN_IF_ERROR(ReadVocabulary());
    SUBMIX_RETURN_IF_ERROR(ReadDeclarations(directory));
    SUBMIX_RETURN_IF_ERROR(ReadText());
    SUBMIX_RETURN_IF_ERROR(AddTokens());
    SUBMIX_RETURN_IF_ERROR(PrepareMatching());
    SUBMIX_RETURN_IF_ERROR(ReadBytesOfTokens());
    SUBMIX_RETURN_IF_ERROR(PrepareReplacement());
    SUBMIX_RETURN_IF_ERROR(ReadMerges());
    SUBMIX_RETURN_IF_ERROR(ReadEndOfText());
    SUBMIX_RETURN_IF_ERROR(ReadPrefix());
    return std::move(parts_);
  }

 private:
  Status Error(const std::string& field, const std::string& problem) const {
    return file_.settings.FieldError(field, problem);
  }
  Status VocabularyError(const std::string& problem) const {
    return base::InvalidArgumentError(file_.vocabulary_place + ": " + problem);
  }
  bool IsSpecial(TokenId id) const {
    return kinds_[static_cast<std::size_t>(id)] == EntryKind::kSpecial;
  }

  Status ReadText() {
    SUBMIX_ASSIGN_OR_RETURN(WordsRule words,
                            ReadWordsRule(file_.settings, declared_.adds_prefix_space));
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
    const std::size_t size = file_.vocabulary.size();
    index_.emplace(size);
    pieces_.resize(size);
    for (const TokenizerFile::Entry& entry : file_.vocabulary) {
      const auto id = static_cast<std::size_t>(entry.id);
      const bool is_free = entry.id >= 0 && id < size && pieces_[id].empty();
      if (!is_free || !index_->Add(entry.piece, static_cast<TokenId>(id))) {
        return VocabularyError("entry " + base::Quoted(entry.piece) + ": expected ids 0 .. " +
                               std::to_string(size - 1) + " and pieces, each once");
      }
      pieces_[id] = entry.piece;
    }
    return base::OkStatus();
  }

  Status ReadDeclarations(const std::string& directory) {
    std::vector<JsonObject> objects;
    std::set<std::int64_t> ids;
    if (file_.settings.Has("added_tokens")) {
      SUBMIX_ASSIGN_OR_RETURN(objects, file_.settings.Objects("added_tokens"));
    }
    for (std::size_t i = 0; i < objects.size(); ++i) {
      DeclaredToken& listed = listed_.emplace_back();
      SUBMIX_ASSIGN_OR_RETURN(listed.token, ReadAddedToken(objects[i]));
      constexpr int kMost = std::numeric_limits<TokenId>::max();
      SUBMIX_ASSIGN_OR_RETURN(listed.token.id, objects[i].Int("id", 0, kMost));
      listed.place = objects[i].FieldError("content", base::Quoted(listed.token.content)).message();
      ids.insert(listed.token.id);
    }
    SUBMIX_ASSIGN_OR_RETURN(declared_, ReadTokenDeclarations(directory, ids));
    if (!file_.is_gpt2) return base::OkStatus();
    declared_.named.insert("<|endoftext|>");
    const std::string& reader = declared_.tokenizer_class;
    if (reader.empty() || reader.starts_with("GPT2Tokenizer")) return base::OkStatus();
    return base::InvalidArgumentError(
        declared_.path + ": field \"tokenizer_class\": " + base::Quoted(reader) +
        " reads vocab.json and merges.txt in a way of its own; let transformers write a "
        "tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)");
  }

  // In the order in which Hugging Face's library adds them, since that gives them their ids.
  Status AddTokens() {
    for (const DeclaredToken& each : listed_) SUBMIX_RETURN_IF_ERROR(AddToken(each, false));
    for (const DeclaredToken& each : declared_.added) SUBMIX_RETURN_IF_ERROR(AddToken(each, true));
    for (const std::string& content : declared_.named) MakeSpecial(content);
    kinds_.assign(pieces_.size(), EntryKind::kPiece);
    for (const auto& [content, token] : parts_.added_tokens) {
      const auto id = static_cast<std::size_t>(token.id);
      const bool is_piece = id < file_.vocabulary.size();
      kinds_[id] = token.is_special ? EntryKind::kSpecial
                   : is_piece       ? EntryKind::kAddedPiece
                                    : EntryKind::kAdded;
    }
    return base::OkStatus();
  }

  // One that is there already keeps its id; `updates`: it gets these flags.
  Status AddToken(const DeclaredToken& declared, bool updates) {
    const AddedToken& token = declared.token;
    if (token.content.empty()) return base::OkStatus();  // there is nothing that would match
    const auto known = parts_.added_tokens.find(token.content);
    const std::optional<TokenId> of_piece = index_->Find(token.content);
    const TokenId id = known != parts_.added_tokens.end() ? known->second.id
                       : of_piece                         ? *of_piece
                                                          : static_cast<TokenId>(pieces_.size());
    if (token.id != id) {
      return base::InvalidArgumentError(
          declared.place + ": has the id " + std::to_string(token.id) +
          ", but Hugging Face's library gives it " + std::to_string(id) +
          (known != parts_.added_tokens.end() || of_piece ? ", which the same text has already"
                                                          : ", the next one that is free"));
    }
    if (known == parts_.added_tokens.end()) {
      const auto added = parts_.added_tokens.emplace(token.content, token).first;
      if (!of_piece) pieces_.push_back(added->first);
      return base::OkStatus();
    }
    const bool is_special = known->second.is_special || token.is_special;
    if (!updates && !HasSameFlags(known->second, token)) {
      return base::InvalidArgumentError(declared.place + ": is listed before with other flags");
    }
    known->second = token;
    known->second.is_special = is_special;
    return base::OkStatus();
  }

  // What configurations call the padding or the unknown may be a character that text needs.
  void MakeSpecial(const std::string& content) {
    const auto known = parts_.added_tokens.find(content);
    if (known != parts_.added_tokens.end()) {
      known->second.is_special = true;
      return;
    }
    const std::optional<TokenId> of_piece = index_->Find(content);
    if (!of_piece || IsOneCharacter(content)) return;
    AddedToken token{content, *of_piece};
    token.is_special = true;
    parts_.added_tokens.emplace(content, std::move(token));
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
    parts_.token_of_byte.fill(BytePairParts::kNoToken);
    parts_.bytes_of_token.resize(pieces_.size());
    parts_.is_word.resize(pieces_.size());
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      const EntryKind kind = kinds_[id];
      if (kind == EntryKind::kSpecial) continue;
      if (kind != EntryKind::kAdded) ReadBytesOfPiece(static_cast<TokenId>(id));
      std::string& bytes = parts_.bytes_of_token[id];
      if (kind != EntryKind::kPiece) bytes = BytesOfAddedToken(pieces_[id]);
      const bool is_spelt = is_byte_level_ && kind == EntryKind::kPiece;
      const std::size_t size = is_spelt ? bytes.size() : std::max(pieces_[id].size(), bytes.size());
      parts_.longest_piece_bytes = std::max(parts_.longest_piece_bytes, size);
    }
    return base::OkStatus();
  }

  // Text that has no spelling is spelt as U+FFFD.
  Status PrepareReplacement() {
    constexpr std::string_view kReplacement = "\xef\xbf\xbd";
    const auto character = parts_.token_of_character.find(0xfffd);
    if (character != parts_.token_of_character.end()) {
      parts_.replacement = {character->second};
      return base::OkStatus();
    }
    for (const char each : kReplacement) {
      const auto byte = static_cast<unsigned char>(each);
      parts_.replacement.push_back(parts_.token_of_byte[byte]);
      if (parts_.replacement.back() != BytePairParts::kNoToken) continue;
      return VocabularyError("no entry for byte " + std::to_string(byte) +
                             ": text would be lost, since U+FFFD cannot stand in for it");
    }
    return base::OkStatus();
  }

  // Of an entry that merges may make.
  // Text never becomes one that the byte alphabet does not spell.
  void ReadBytesOfPiece(TokenId token) {
    const auto id = static_cast<std::size_t>(token);
    const std::string_view piece = pieces_[id];
    std::optional<std::string> bytes =
        is_byte_level_ ? BytesOfSpelling(piece) : BytesOfTextPiece(piece, token);
    if (!bytes) {
      parts_.bytes_of_token[id] = piece;
      return;
    }
    const bool is_byte = is_byte_level_ ? bytes->size() == 1 : ByteOfPiece(piece).has_value();
    if (is_byte) parts_.token_of_byte[static_cast<unsigned char>(bytes->front())] = token;
    parts_.is_word[id] = kinds_[id] == EntryKind::kPiece || *bytes == piece;
    parts_.bytes_of_token[id] = *std::move(bytes);
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
      const TokenizerFile::Merge& merge = file_.merges[rank];
      joined.assign(merge.left).append(merge.right);
      std::array<TokenId, 3> ids{};
      const std::array<std::string_view, 3> texts = {merge.left, merge.right, joined};
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::optional<TokenId> id = index_->Find(texts[i]);
        if (!id) return MergeError(merge, base::Quoted(texts[i]) + " is not in the vocabulary");
        ids[i] = *id;
      }
      if (std::ranges::any_of(ids, [this](TokenId id) { return IsSpecial(id); })) continue;
      const auto is_byte = [](std::string_view text) { return ByteOfPiece(text).has_value(); };
      if (!is_byte_level_ && std::ranges::any_of(texts, is_byte)) {
        return MergeError(merge, "a byte's entry must not come of text");
      }
      if (!parts_.merges.Add(ids[0], ids[1], {static_cast<std::int32_t>(rank), ids[2]})) {
        return MergeError(merge, "stands in the list twice");
      }
      if (parts_.boundaries) parts_.boundaries->AddMerge(merge.left, merge.right);
    }
    return base::OkStatus();
  }

  Status MergeError(const TokenizerFile::Merge& merge, const std::string& problem) const {
    return base::InvalidArgumentError(file_.merges_place + std::to_string(merge.number) + ": " +
                                      problem);
  }

  Status ReadEndOfText() {
    std::string name = declared_.end_of_text;
    if (!name.empty() && !SpecialToken(name)) {
      return base::InvalidArgumentError(declared_.path +
                                        ": field \"eos_token\": " + base::Quoted(name) +
                                        " is no special token of " + file_.vocabulary_place);
    }
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"}) {
      if (name.empty() && SpecialToken(usual)) name = usual;
    }
    if (name.empty()) {
      return VocabularyError("no end of text is known; name one as \"eos_token\" in " +
                             declared_.path);
    }
    parts_.end_of_text = *SpecialToken(name);
    return base::OkStatus();
  }

  // Whether transformers' reader of this directory makes a post-processor of its own. Its general
  // one (PreTrainedTokenizerFast), and that of Qwen, leaves the file's.
  bool HeedsAddBosToken() const {
    const std::string& reader = declared_.tokenizer_class;
    if (file_.is_gpt2 || reader.empty()) return true;
    for (const std::string family : {"Llama", "CodeLlama", "Gemma", "Cohere", "GPTNeoX"}) {
      if (reader == family + "Tokenizer" || reader == family + "TokenizerFast") return true;
    }
    return false;
  }

  Status ReadPrefix() {
    SUBMIX_ASSIGN_OR_RETURN(
        parts_.prefix, tokenizer::ReadPrefix(file_.settings, static_cast<int>(pieces_.size())));
    if (!declared_.adds_beginning || !HeedsAddBosToken()) return base::OkStatus();
    if (!*declared_.adds_beginning) parts_.prefix.clear();
    if (!*declared_.adds_beginning || declared_.beginning.empty()) return base::OkStatus();
    const std::optional<TokenId> beginning = SpecialToken(declared_.beginning);
    if (!beginning) {
      return base::InvalidArgumentError(
          declared_.path + ": field \"bos_token\": " + base::Quoted(declared_.beginning) +
          " is no special token of " + file_.vocabulary_place);
    }
    parts_.prefix = {*beginning};
    return base::OkStatus();
  }

  std::optional<TokenId> SpecialToken(std::string_view content) const {
    const auto token = parts_.added_tokens.find(content);
    if (token == parts_.added_tokens.end() || !token->second.is_special) return std::nullopt;
    return token->second.id;
  }

  const TokenizerFile& file_;
  DecodingRule decoding_;
  bool is_byte_level_ = false;
  std::vector<DeclaredToken> listed_;  // in tokenizer.json
  TokenDeclarations declared_;         // beside it
  std::optional<PieceIndex> index_;    // of the model's vocabulary, as the file spells it
  // As the file spells them, index = id; first the model's, then the added ones.
  std::vector<std::string_view> pieces_;
  std::vector<EntryKind> kinds_;  // index = id
  BytePairParts parts_;
};

}  // namespace

StatusOr<BytePairParts> ReadParts(const TokenizerFile& file, const std::string& directory) {
  return PartsReader(file).Read(directory);
}

}  // namespace submix::tokenizer
