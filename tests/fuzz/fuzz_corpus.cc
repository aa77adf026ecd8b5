#include <algorithm>

#include "submix/base/check.h"
#include "submix/corpus/json_record.h"
#include "submix/corpus/member_decoder.h"
#include "submix/corpus/testing/packed.h"
#include "submix/corpus/text_lines.h"
#include "submix/corpus/user_records.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

struct CorpusLines {
  base::Status status;
  std::vector<std::string> lines;
};

CorpusLines LinesOf(const std::string& path) {
  CorpusLines read;
  read.status = corpus::ReadLines(path, [&](std::int64_t, std::string_view text) {
    read.lines.emplace_back(text);
    return base::OkStatus();
  });
  return read;
}

// What is written of a record says the same.
void CheckLineOf(const corpus::UserRecord& record) {
  const auto again = corpus::ParseJsonRecord(corpus::CorpusFile(), corpus::JsonLine(record));
  SUBMIX_CHECK(again.ok() && again->user == record.user && again->text == record.text &&
                   again->prompt_bytes == record.prompt_bytes && again->messages == record.messages,
               "a record is read back");
}

void CheckRecords(const std::string& path) {
  std::int64_t last_line = 0;
  const base::Status status = corpus::ReadUserRecords(path, [&](const corpus::UserRecord& record) {
    SUBMIX_CHECK(!record.user.empty(), "a record has a user");
    SUBMIX_CHECK(record.line > last_line, "lines are numbered in order");
    last_line = record.line;
    CheckLineOf(record);
    return base::OkStatus();
  });
  if (!status.ok()) return;
  for (const std::string& line : LinesOf(path).lines) {
    SUBMIX_CHECK(line.find('\0') == std::string::npos, "no JSON holds a NUL byte");
  }
}

// `recipe` says what happens to the packed file: which kind it is, which byte is changed and how,
// and how much is cut off its end. A
// damaged file is an error or reads as before: its checksums see one wrong byte for sure.
void FuzzPacked(std::string_view recipe, std::string_view text) {
  static const FuzzedDirectory directory;
  const auto kinds = corpus::PackedKinds();
  if (std::ranges::any_of(kinds, [&](const auto& kind) { return kind.begins(text); })) {
    return;  // would be unpacked as it is
  }
  const CorpusLines expected = LinesOf(directory.Put("plain", text));
  if (!expected.status.ok()) return;  // of a kind that is not read
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(recipe[i]); };
  const std::string ending(kinds[at(1) % kinds.size()].ending);
  std::string packed = corpus::Packed(text, ending);
  char& damaged = packed[(std::size_t{at(0)} << 8 | at(1)) % packed.size()];
  damaged = static_cast<char>(damaged ^ at(2));
  packed.resize(packed.size() - std::min<std::size_t>(at(3), packed.size()));
  const CorpusLines found = LinesOf(directory.Put("packed" + ending, packed));
  SUBMIX_CHECK(!found.status.ok() || found.lines == expected.lines,
               "damage is noticed or changes nothing");
  SUBMIX_CHECK(found.status.ok() || at(2) != 0 || at(3) != 0, "what was packed is unpacked");
}

}  // namespace

// Of inputs "pack", four bytes of a recipe and a text, the text is packed; others are the file.
void FuzzCorpus(std::string_view input) {
  static const FuzzedDirectory directory;
  constexpr std::string_view kPack = "pack";
  constexpr std::size_t kRecipeBytes = 4;
  if (input.starts_with(kPack) && input.size() >= kPack.size() + kRecipeBytes) {
    input.remove_prefix(kPack.size());
    return FuzzPacked(input.substr(0, kRecipeBytes), input.substr(kRecipeBytes));
  }
  CheckRecords(directory.Put("corpus.jsonl", input));
  std::int64_t last_line = 0;
  const base::Status csv = corpus::ReadUserRecords(
      directory.Put("corpus.csv", input), [&](const corpus::UserRecord& record) {
        SUBMIX_CHECK(!record.user.empty() && record.line >= last_line,
                     "a row has a user and a line");
        last_line = record.line;
        CheckLineOf(record);
        return base::OkStatus();
      });
  (void)csv;  // most inputs are none
}

}  // namespace submix::fuzz
