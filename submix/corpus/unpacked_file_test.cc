#include "submix/corpus/unpacked_file.h"

#include <string>
#include <string_view>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/testing/packed.h"

namespace submix::corpus {
namespace unpacked_file_test {

using base::StatusCode;
using base::StatusIs;
using base::StatusOr;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kText = "secret, and secret again\n";

MATCHER_P(Holds, text, "") {
  *result_listener << base::StatusOf(arg).ToString();
  return arg.ok() && *arg == text;
}

StatusOr<std::string> Read(const std::string& path) {
  UnpackedFile file(path);
  SUBMIX_RETURN_IF_ERROR(file.Open());
  std::string content;
  while (true) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string_view bytes, file.Next());
    if (bytes.empty()) return content;
    content += bytes;
  }
}

class UnpackedFileTest : public ::testing::TestWithParam<PackedKind> {
 protected:
  static std::string Named(const std::string& name) {
    return name + std::string(GetParam().ending);
  }
  static std::string PackedText(std::string_view text) { return Packed(text, GetParam().ending); }
  StatusOr<std::string> ReadContent(const std::string& content, const std::string& name = "text") {
    return Read(directory_.Write(name, content));
  }

  base::TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, UnpackedFileTest, ::testing::ValuesIn(PackedKinds()),
                         [](const auto& kind) { return std::string(kind.param.ending.substr(1)); });

TEST_P(UnpackedFileTest, IsUnpackedWhateverItsName) {
  std::string large;
  for (int i = 0; i < 100'000; ++i) large += std::to_string(i) + "\n";
  for (const std::string& text : {std::string(kText), large, std::string()}) {
    EXPECT_TRUE(ReadContent(PackedText(text), Named("text")).value() == text);
    EXPECT_TRUE(ReadContent(PackedText(text)).value() == text);
  }
}

TEST_P(UnpackedFileTest, MembersMayStandOneAfterTheOtherAndBeFilledUpWithZeros) {
  const std::string packed = PackedText("one\nt") + PackedText("") + PackedText("wo\n");
  EXPECT_THAT(ReadContent(packed), Holds("one\ntwo\n"));
  for (const std::size_t zeros : {1, 4, 9, 512, 100'000}) {
    const std::string padded = packed + std::string(zeros, '\0');
    EXPECT_THAT(ReadContent(padded), Holds("one\ntwo\n"));
    EXPECT_THAT(ReadContent(padded + PackedText("x")), Holds("one\ntwo\nx"));
  }
}

// What is lost in silence is users' text.
TEST_P(UnpackedFileTest, OtherBytesAfterTheLastMemberAreAnError) {
  const std::string packed = PackedText(kText);
  std::string other = Packed("x", GetParam().ending == ".gz" ? ".xz" : ".gz");
  for (const std::string& garbage :
       {std::string("garbage trailing"), std::string("\n"), std::string("{\"user\": \"a\"}"),
        std::string(70'000, 'x'), std::string(5, '\0') + "x", other,
        PackedText(kText).substr(0, 1)}) {
    const std::string file = packed + garbage;
    EXPECT_THAT(
        ReadContent(file).status(),
        StatusIs(StatusCode::kDataLoss, HasSubstr("text: other bytes follow what is packed as " +
                                                  std::string(GetParam().ending))))
        << garbage.size();
  }
}

TEST_P(UnpackedFileTest, AFileThatIsCutAnywhereIsReported) {
  const std::string packed = PackedText(kText);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const std::string cut = packed.substr(0, size);
    EXPECT_THAT(
        ReadContent(cut, Named("cut")).status(),
        StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(Named("cut")), HasSubstr("cut short"))))
        << size;
    // A second member that is cut.
    if (size == 0) continue;
    EXPECT_THAT(ReadContent(packed + cut).status(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("text: ")))
        << size;
  }
}

TEST_P(UnpackedFileTest, NoWrongByteGoesUnnoticed) {
  const std::string packed = PackedText(kText);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    const auto read = ReadContent(damaged, Named("damaged"));
    if (read.ok()) {
      EXPECT_EQ(*read, kText) << i;
    }
  }
}

TEST_P(UnpackedFileTest, APlainFileThatIsNamedLikeAPackedOneIsReported) {
  for (const char* text : {"text\n", "BZh9 is no text that is packed\n", ""}) {
    EXPECT_THAT(ReadContent(text, Named("plain")).status(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("is not a " + Named("") + " file")));
  }
}

TEST(PlainFileTest, IsReadAsItIs) {
  const base::TemporaryDirectory directory;
  std::string large("BZh9 PK");
  for (int i = 0; i < 100'000; ++i) large += std::to_string(i) + std::string(1, '\0');
  for (const std::string& text : {large, std::string("P"), std::string()}) {
    EXPECT_TRUE(Read(directory.Write("plain", text)).value() == text);
  }
}

TEST(ZstdFileTest, WindowsUpToTwoGibibytesAreRead) {
  const base::TemporaryDirectory directory;
  EXPECT_THAT(Read(directory.Write("long", Packed(kText, ".zst", 31))), Holds(kText));
  const std::string shared = SUBMIX_SHARED_DIR "/cases/corpora/long31.jsonl.zst";
  if (base::FileExists(shared)) {
    SUBMIX_EXPECT_OK(Read(shared).status());
  }
  // Frame header: no checksum, no size; a window of 2^(10 + 22).
  const std::string larger("\x28\xb5\x2f\xfd\x00\xb0\x01\x00\x00", 9);
  EXPECT_THAT(Read(directory.Write("longer", larger)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("window of more than 2 GiB")));
}

TEST(ZstdFileTest, SkippableFramesAreSkippedAndDictionariesAreNamed) {
  const base::TemporaryDirectory directory;
  const std::string skipped("\x5a\x2a\x4d\x18\x03\0\0\0xyz", 11);
  const std::string packed = Packed(kText, ".zst");
  EXPECT_THAT(Read(directory.Write("skip", skipped + packed + skipped)), Holds(kText));
  // Frame header: a dictionary's id of one byte, a window of 1 KiB.
  const std::string dictionary("\x28\xb5\x2f\xfd\x01\x00\x07\x01\x00\x00", 10);
  EXPECT_THAT(Read(directory.Write("dictionary", dictionary)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("dictionary")));
}

}  // namespace unpacked_file_test
}  // namespace submix::corpus
