#include "submix/corpus/text_lines.h"

#include <utility>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/member_decoder.h"
#include "submix/corpus/testing/packed.h"

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

TEST_F(TextLinesTest, LinesArePutTogetherAcrossPieces) {
  std::string content;
  for (std::size_t size = 0; size < 600; ++size) content += std::string(size, 'x') + "\n";
  std::vector<std::string> stored = {content};
  for (const PackedKind& kind : PackedKinds()) stored.push_back(Packed(content, kind.ending));
  for (const std::string& file : stored) {
    SUBMIX_ASSERT_OK(Read(file));
    ASSERT_THAT(lines_, SizeIs(600));
    for (std::size_t size = 0; size < 600; ++size) ASSERT_EQ(lines_[size].second.size(), size);
  }
}

TEST_F(TextLinesTest, OtherKindsAreNamed) {
  struct Other {
    std::string content;
    const char* kind;
  };
  const std::string tar = std::string("text.jsonl").append(247, '\0') + "ustar";
  for (const Other& other :
       {Other{"PK\x03\x04\x14", ".zip"}, Other{"7z\xbc\xaf\x27\x1c.", ".7z"},
        Other{"\x04\x22\x4d\x18.", ".lz4"}, Other{{"\x5d\0\0\x80\0", 5}, ".lzma"},
        Other{tar + "00", ".tar"}, Other{Packed(tar + "00", ".gz"), ".tar"},
        Other{"PAR1\x15\x04", ".parquet"}}) {
    EXPECT_THAT(Read(other.content),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("is a " + std::string(other.kind) + " file"),
                               HasSubstr(".gz, .xz, .zst and .bz2"))));
  }
  EXPECT_THAT(Read(Packed(Packed("text\n", ".xz"), ".gz")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("packed twice: a .xz file is in")));
}

// As the encodings have it: `width` bytes a character.
std::string Wide(std::string_view ascii, std::size_t width, bool is_big_endian) {
  std::string wide;
  for (const char c : ascii) {
    std::string character(width, '\0');
    character[is_big_endian ? width - 1 : 0] = c;
    wide += character;
  }
  return wide;
}

TEST_F(TextLinesTest, Utf16AndUtf32AreNamedWithAndWithoutAByteOrderMark) {
  const std::string text = "{\"user\": \"a\", \"text\": \"x\"}\n";
  struct Case {
    std::string content;
    const char* encoding;
  };
  for (const Case& wide :
       {Case{"\xff\xfe" + Wide(text, 2, false), "UTF-16"},
        Case{"\xfe\xff" + Wide(text, 2, true), "UTF-16"},
        Case{std::string("\xff\xfe\0\0", 4) + Wide(text, 4, false), "UTF-32"},
        Case{Wide(text, 2, false), "UTF-16LE"}, Case{Wide(text, 2, true), "UTF-16BE"},
        // Words of another script have no zero bytes.
        Case{Wide("{\"text\": \"", 2, false) + std::string(40, '\x04'), "UTF-16LE"},
        Case{Wide(text, 4, false), "UTF-32LE"}, Case{Wide(text, 4, true), "UTF-32BE"}}) {
    for (const std::string& file : {wide.content, Packed(wide.content, ".gz")}) {
      EXPECT_THAT(Read(file),
                  StatusIs(StatusCode::kInvalidArgument,
                           HasSubstr("is " + std::string(wide.encoding) + ": convert")));
      EXPECT_THAT(lines_, IsEmpty());
    }
  }
  for (const std::string& other : {std::string("ab\0c", 4), std::string(9, '\0'), std::string()}) {
    SUBMIX_EXPECT_OK(Read(other));
  }
}

// A small file may unpack to any number of bytes.
TEST_F(TextLinesTest, ALineWithoutEndIsRefused) {
  const std::string line(kMostLineBytes + 1, 'x');
  for (const std::string& file : {"one\n" + line, Packed("one\n" + line, ".zst")}) {
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
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("more: document 1: enough")));
  EXPECT_THAT(documents, ElementsAre("one\ntwo\n", "\nthree\n", "four\n"));
}

}  // namespace text_lines_test
}  // namespace submix::corpus
