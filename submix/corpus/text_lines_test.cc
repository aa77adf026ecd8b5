#include "submix/corpus/text_lines.h"

#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::corpus {
namespace text_lines_test {

using base::IsOk;
using base::Status;
using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Kind {
  const char* ending;
  int filter;
};
constexpr Kind kKinds[] = {{".gz", ARCHIVE_FILTER_GZIP},
                           {".xz", ARCHIVE_FILTER_XZ},
                           {".zst", ARCHIVE_FILTER_ZSTD},
                           {".bz2", ARCHIVE_FILTER_BZIP2}};

std::string Packed(const std::string& content, int filter, int format = ARCHIVE_FORMAT_RAW) {
  archive* const writer = archive_write_new();
  archive_write_add_filter(writer, filter);
  archive_write_set_format(writer, format);
  archive_write_set_bytes_in_last_block(writer, 1);
  std::string packed(content.size() + (1 << 16), '\0');
  std::size_t size = 0;
  EXPECT_EQ(archive_write_open_memory(writer, packed.data(), packed.size(), &size), ARCHIVE_OK);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, "text");
  archive_entry_set_filetype(entry, S_IFREG);
  archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
  EXPECT_EQ(archive_write_header(writer, entry), ARCHIVE_OK);
  EXPECT_EQ(archive_write_data(writer, content.data(), content.size()), std::ssize(content));
  archive_entry_free(entry);
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  packed.resize(size);
  return packed;
}

class TextLinesTest : public ::testing::Test {
 protected:
  Status Read(const std::string& content, const std::string& name = "text") {
    return ReadPath(directory_.Write(name, content));
  }
  Status ReadPath(const std::string& path) {
    lines_.clear();
    return ReadLines(path, [this](std::int64_t line, std::string_view text) {
      lines_.emplace_back(line, text);
      return base::OkStatus();
    });
  }

  base::TemporaryDirectory directory_;
  std::vector<std::pair<std::int64_t, std::string>> lines_;
};

TEST_F(TextLinesTest, LinesComeWithoutTheirEnds) {
  SUBMIX_ASSERT_OK(Read("\xef\xbb\xbfone\n\ntwo\r\nthree \xff"));
  EXPECT_THAT(lines_, ElementsAre(std::pair(1, "one"), std::pair(2, ""), std::pair(3, "two"),
                                  std::pair(4, "three \xff")));
  SUBMIX_ASSERT_OK(Read(""));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(TextLinesTest, PackedFilesAreReadWhateverTheirName) {
  for (const Kind kind : kKinds) {
    SCOPED_TRACE(kind.ending);
    for (const std::string& name : {"text" + std::string(kind.ending), std::string("text")}) {
      SUBMIX_ASSERT_OK(Read(Packed("one\ntwo\n", kind.filter), name));
      EXPECT_THAT(lines_, ElementsAre(std::pair(1, "one"), std::pair(2, "two")));
    }
    SUBMIX_ASSERT_OK(Read(Packed("", kind.filter)));
    EXPECT_THAT(lines_, IsEmpty());
  }
}

TEST_F(TextLinesTest, PackedFilesMayStandOneAfterTheOther) {
  for (const Kind kind : kKinds) {
    SUBMIX_ASSERT_OK(Read(Packed("one\nt", kind.filter) + Packed("wo\n", kind.filter)));
    EXPECT_THAT(lines_, ElementsAre(std::pair(1, "one"), std::pair(2, "two"))) << kind.ending;
  }
}

TEST_F(TextLinesTest, LinesArePutTogetherAcrossPieces) {
  std::string content;
  for (std::size_t size = 0; size < 600; ++size) content += std::string(size, 'x') + "\n";
  std::vector<std::string> stored = {content};
  for (const Kind kind : kKinds) stored.push_back(Packed(content, kind.filter));
  for (const std::string& file : stored) {
    SUBMIX_ASSERT_OK(Read(file));
    ASSERT_THAT(lines_, SizeIs(600));
    for (std::size_t size = 0; size < 600; ++size) ASSERT_EQ(lines_[size].second.size(), size);
  }
}

TEST_F(TextLinesTest, APackedFileThatIsCutAnywhereIsReported) {
  for (const Kind kind : kKinds) {
    const std::string name = std::string("cut") + kind.ending;
    const std::string packed = Packed("secret, and secret again\n", kind.filter);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      EXPECT_THAT(Read(packed.substr(0, size), name),
                  StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(name), HasSubstr("cut short"))))
          << size;
    }
  }
}

// With zstd a checksum is the writer's choice: libarchive makes none, the program `zstd` does.
TEST_F(TextLinesTest, NoWrongByteGoesUnnoticed) {
  const std::string kByZstdProgram(
      "\x28\xb5\x2f\xfd\x04\x58\xc9\x00\x00\x73\x65\x63\x72\x65\x74\x2c\x20\x61\x6e\x64\x20\x73\x65"
      "\x63\x72\x65\x74\x20\x61\x67\x61\x69\x6e\x0a\x5c\xe4\xa0\x91",
      38);
  const std::string content = "secret, and secret again\n";
  for (const Kind kind : kKinds) {
    const bool is_zstd = kind.filter == ARCHIVE_FILTER_ZSTD;
    const std::string packed = is_zstd ? kByZstdProgram : Packed(content, kind.filter);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      std::string damaged = packed;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
      const Status status = Read(damaged, std::string("damaged") + kind.ending);
      if (status.ok()) {
        EXPECT_THAT(lines_, ElementsAre(std::pair(1, "secret, and secret again")))
            << kind.ending << i;
      }
    }
  }
}

TEST_F(TextLinesTest, APlainFileThatIsNamedLikeAPackedOneIsReported) {
  for (const Kind kind : kKinds) {
    EXPECT_THAT(Read("text\n", std::string("plain") + kind.ending),
                StatusIs(StatusCode::kDataLoss,
                         HasSubstr("is not a " + std::string(kind.ending) + " file")));
  }
}

TEST_F(TextLinesTest, OtherKindsAreNamed) {
  struct Other {
    std::string content;
    const char* kind;
  };
  const std::string tar = Packed("text\n", ARCHIVE_FILTER_NONE, ARCHIVE_FORMAT_TAR);
  for (const Other& other :
       {Other{Packed("text\n", ARCHIVE_FILTER_NONE, ARCHIVE_FORMAT_ZIP), ".zip"},
        Other{Packed("text\n", ARCHIVE_FILTER_NONE, ARCHIVE_FORMAT_7ZIP), ".7z"},
        Other{Packed("text\n", ARCHIVE_FILTER_LZ4), ".lz4"}, Other{tar, ".tar"},
        Other{Packed(tar, ARCHIVE_FILTER_GZIP), ".tar"}, Other{"PAR1\x15\x04", ".parquet"}}) {
    EXPECT_THAT(Read(other.content),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("is a " + std::string(other.kind) + " file"),
                               HasSubstr(".gz, .xz, .zst and .bz2"))));
  }
}

// A small file may unpack to any number of bytes.
TEST_F(TextLinesTest, ALineWithoutEndIsRefused) {
  const std::string line(kMostLineBytes + 1, 'x');
  for (const std::string& file : {"one\n" + line, Packed("one\n" + line, ARCHIVE_FILTER_ZSTD)}) {
    EXPECT_THAT(Read(file, "long"), StatusIs(StatusCode::kInvalidArgument,
                                             HasSubstr("long:2: the line is longer than 64 MiB")));
  }
}

TEST_F(TextLinesTest, AMissingFileAndADirectoryAreReported) {
  EXPECT_THAT(ReadPath(directory_.File("missing")),
              StatusIs(StatusCode::kNotFound, HasSubstr("missing")));
  EXPECT_THAT(ReadPath(directory_.path()), StatusIs(StatusCode::kInternal, HasSubstr("directory")));
}

TEST_F(TextLinesTest, TheSinksFirstErrorEndsIt) {
  EXPECT_THAT(ReadLines(directory_.Write("text", "one\ntwo\n"),
                        [](std::int64_t, std::string_view) {
                          return base::ResourceExhaustedError("enough");
                        }),
              StatusIs(StatusCode::kResourceExhausted, "enough"));
}

TEST_F(TextLinesTest, DocumentsEndWithALineAndWithTheFile) {
  std::vector<std::string> documents;
  const auto keep = [&](std::string_view document) {
    documents.emplace_back(document);
    return documents.size() < 3 ? base::OkStatus() : base::ResourceExhaustedError("enough");
  };
  EXPECT_THAT(ReadDocuments(directory_.Write("text",
                                             "<|endoftext|>\none\r\ntwo\n<|endoftext|>\n"
                                             "<|endoftext|>\n\nthree"),
                            keep),
              IsOk());
  EXPECT_THAT(documents, ElementsAre("one\ntwo\n", "\nthree\n"));
  EXPECT_THAT(ReadDocuments(directory_.Write("more", "four\n<|endoftext|>\nfive\n"), keep),
              StatusIs(StatusCode::kResourceExhausted, "enough"));
  EXPECT_THAT(documents, ElementsAre("one\ntwo\n", "\nthree\n", "four\n"));
}

}  // namespace text_lines_test
}  // namespace submix::corpus
