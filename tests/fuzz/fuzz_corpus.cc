#include <archive.h>
#include <archive_entry.h>

#include "submix/base/check.h"
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

void CheckRecords(const std::string& path) {
  std::int64_t last_line = 0;
  const base::Status status = corpus::ReadUserRecords(path, [&](const corpus::UserRecord& record) {
    SUBMIX_CHECK(!record.user.empty(), "a record has a user");
    SUBMIX_CHECK(record.line > last_line, "lines are numbered in order");
    last_line = record.line;
    return base::OkStatus();
  });
  if (!status.ok()) return;
  for (const std::string& line : LinesOf(path).lines) {
    SUBMIX_CHECK(line.find('\0') == std::string::npos, "no JSON holds a NUL byte");
  }
}

std::string Packed(std::string_view text) {
  archive* const writer = archive_write_new();
  archive_write_add_filter_xz(writer);
  archive_write_set_format_raw(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  std::string packed(2 * text.size() + 1024, '\0');
  std::size_t size = 0;
  archive_write_open_memory(writer, packed.data(), packed.size(), &size);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(writer, entry);
  const la_ssize_t written = archive_write_data(writer, text.data(), text.size());
  SUBMIX_CHECK(written == std::ssize(text), "libarchive must pack");
  archive_entry_free(entry);
  SUBMIX_CHECK(archive_write_close(writer) == ARCHIVE_OK, "libarchive must pack");
  archive_write_free(writer);
  packed.resize(size);
  return packed;
}

// `recipe` says what happens to the packed file: a byte is changed, and its end is cut off. A
// damaged file is an error or reads as before: its checksums see one wrong byte for sure.
void FuzzPacked(std::string_view recipe, std::string_view text) {
  static const FuzzedDirectory directory;
  for (const std::string_view packed_start :
       {"\x1f\x8b", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd", "BZh"}) {
    if (text.starts_with(packed_start)) return;  // would be unpacked as it is
  }
  const CorpusLines expected = LinesOf(directory.Put("plain", text));
  if (!expected.status.ok()) return;  // of a kind that is not read
  std::string packed = Packed(text);
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(recipe[i]); };
  char& damaged = packed[(std::size_t{at(0)} << 8 | at(1)) % packed.size()];
  damaged = static_cast<char>(damaged ^ at(2));
  packed.resize(packed.size() - std::min<std::size_t>(at(3), packed.size()));
  const CorpusLines found = LinesOf(directory.Put("packed.xz", packed));
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
        return base::OkStatus();
      });
  (void)csv;  // most inputs are none
}

}  // namespace submix::fuzz
