// Files that lie: every one must be refused or be harmless, never read out of bounds.
#include <cstring>
#include <filesystem>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/model/safetensors.h"

namespace submix::model {
namespace safetensors_damage_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string LengthPrefix(std::uint64_t length) {
  std::string prefix(8, '\0');
  std::memcpy(prefix.data(), &length, 8);
  return prefix;
}

class SafetensorsDamageTest : public ::testing::Test {
 protected:
  base::StatusOr<std::unique_ptr<SafetensorsFile>> OpenBytes(const std::string& bytes) {
    EXPECT_THAT(base::WriteFile(path_, bytes), base::IsOk());
    return SafetensorsFile::Open(path_);
  }
  base::StatusOr<std::unique_ptr<SafetensorsFile>> OpenHeader(const std::string& header,
                                                              std::size_t buffer_size) {
    return OpenBytes(LengthPrefix(header.size()) + header + std::string(buffer_size, 'x'));
  }
  // A file whose one tensor "w" has these fields, with 8 bytes behind the header.
  base::StatusOr<std::unique_ptr<SafetensorsFile>> OpenTensor(const std::string& fields) {
    return OpenHeader("{\"w\":{" + fields + "}}", 8);
  }

  base::TemporaryDirectory directory_;
  std::string path_ = directory_.File("damaged.safetensors");
};

TEST_F(SafetensorsDamageTest, TheUndamagedTensorIsRead) {
  SUBMIX_EXPECT_OK(OpenTensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"));
  SUBMIX_EXPECT_OK(OpenTensor(R"("data_offsets":[0,8],"dtype":"F16","shape":[1,4,1])"));
}

TEST_F(SafetensorsDamageTest, TensorsThatLieAreRefusedByName) {
  for (const char* fields : {
           R"("dtype":"F32","shape":[2])",
           R"("shape":[2],"data_offsets":[0,8])",
           R"("dtype":"F32","data_offsets":[0,8])",
           R"("dtype":"F32","shape":[2],"data_offsets":null)",
           R"("dtype":32,"shape":[2],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":2,"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"strides":[1])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"shape":[2])",
           R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])",
           R"("dtype":"F32","shape":[2],"data_offsets":[8,0])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,16])",
           R"("dtype":"F32","shape":[2],"data_offsets":[8,16])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,8.0])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615])",
           R"("dtype":"F32","shape":[2],"data_offsets":["0","8"])",
           R"("dtype":"F32","shape":[3],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[1],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[-1,-2],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[null],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])",
           // 4 * 2^62 and 4 * 2^32 * 2^32 wrap to 0; with the 2 to 8 it would fit.
           R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])",
           R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])",
           R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8])",
       }) {
    EXPECT_THAT(OpenTensor(fields), StatusIs(StatusCode::kDataLoss, HasSubstr(path_))) << fields;
  }
  EXPECT_THAT(OpenTensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
              StatusIs(StatusCode::kDataLoss,
                       HasSubstr("tensor \"w\": F32 [3] needs 12 bytes, data_offsets give 8")));
}

TEST_F(SafetensorsDamageTest, OtherDtypesMatterOnlyWhereTheyAreRead) {
  for (const char* dtype : {"F64", "I8", "U8", "BOOL", "F8_E4M3", "f32", ""}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        const auto file,
        OpenTensor(std::string(R"("shape":[1],"data_offsets":[0,8],"dtype":")") + dtype + "\""));
    const std::int64_t shape[] = {1};
    EXPECT_THAT(file->Find("w", shape),
                StatusIs(StatusCode::kUnimplemented,
                         AllOf(HasSubstr(path_), HasSubstr("\"w\""), HasSubstr(dtype))));
  }
  // Where they lie is checked all the same.
  EXPECT_THAT(OpenTensor(R"("shape":[1],"data_offsets":[0,9],"dtype":"U8")"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("not within")));
  EXPECT_THAT(OpenTensor(R"("shape":[1],"data_offsets":[0,4],"dtype":"U8")"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("4 bytes behind")));
}

TEST_F(SafetensorsDamageTest, MetadataMayBeNull) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto file, OpenHeader(R"({"__metadata__":null})", 0));
  EXPECT_TRUE(file->tensors().empty());
}

TEST_F(SafetensorsDamageTest, APointerOfGitLfsIsNamedAsSuch) {
  EXPECT_THAT(OpenBytes("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("git lfs pull")));
}

TEST_F(SafetensorsDamageTest, TheBufferMustBeCoveredExactly) {
  const auto open_two = [this](const std::string& a, const std::string& b, std::size_t size) {
    return OpenHeader(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a +
                          R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}",
                      size);
  };
  SUBMIX_EXPECT_OK(open_two("[0,4]", "[4,8]", 8));
  SUBMIX_EXPECT_OK(open_two("[4,8]", "[0,4]", 8));
  EXPECT_THAT(open_two("[0,4]", "[0,4]", 8),
              StatusIs(StatusCode::kDataLoss, HasSubstr("overlaps")));
  EXPECT_THAT(open_two("[0,4]", "[2,6]", 8),
              StatusIs(StatusCode::kDataLoss, HasSubstr("tensor \"b\": overlaps")));
  EXPECT_THAT(open_two("[0,4]", "[6,10]", 10), StatusIs(StatusCode::kDataLoss, HasSubstr("hole")));
  EXPECT_THAT(open_two("[4,8]", "[8,12]", 12),
              StatusIs(StatusCode::kDataLoss, HasSubstr("tensor \"a\": leaves a hole")));
  EXPECT_THAT(open_two("[0,4]", "[4,8]", 9),
              StatusIs(StatusCode::kDataLoss, HasSubstr("1 bytes behind the last tensor")));
  EXPECT_THAT(OpenHeader("{}", 3), StatusIs(StatusCode::kDataLoss, HasSubstr("3 bytes behind")));
}

TEST_F(SafetensorsDamageTest, HeadersThatAreNotOneObjectAreRefused) {
  const std::string hidden("{}\0{\"w\":1}", 11);
  for (const std::string& header :
       {std::string(), std::string("[]"), std::string("nul"), std::string("{"), std::string(" {}"),
        std::string("\xef\xbb\xbf{}"), std::string("{}x"), std::string("{} {}"),
        std::string(R"({"w":1})"), std::string(R"({"w":{}})"), std::string(R"({"w":null})"),
        std::string("{\"\xff\":{}}"), std::string(R"({"w":{"shape":[1e999]}})"),
        R"({"w":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}",
        std::string(100'000, '{'), hidden}) {
    EXPECT_THAT(OpenHeader(header, 0), StatusIs(StatusCode::kDataLoss, HasSubstr(path_)))
        << header.substr(0, 40);
  }
  SUBMIX_EXPECT_OK(OpenHeader("{}      ", 0));
}

TEST_F(SafetensorsDamageTest, MetadataMustMapStringsToStrings) {
  SUBMIX_EXPECT_OK(OpenHeader(R"({"__metadata__":{"format":"pt"}})", 0));
  for (const char* metadata : {"1", "[]", "\"pt\"", R"({"a":1})", R"({"a":null})",
                               R"({"a":{"b":"c"}})", R"({"a":"b","a":"c"})"}) {
    EXPECT_THAT(OpenHeader(std::string(R"({"__metadata__":)") + metadata + "}", 0),
                StatusIs(StatusCode::kDataLoss, HasSubstr(path_)))
        << metadata;
  }
}

TEST_F(SafetensorsDamageTest, DuplicateTensorsAreRefused) {
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(OpenHeader("{\"w\":" + entry + ",\"w\":" + entry + "}", 4),
              StatusIs(StatusCode::kDataLoss, HasSubstr("duplicate key \"w\"")));
}

TEST_F(SafetensorsDamageTest, LengthsThatDoNotFitAreRefused) {
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{100'000'001},
                                     std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7}) {
    EXPECT_THAT(OpenBytes(LengthPrefix(length) + "{}"),
                StatusIs(StatusCode::kDataLoss, HasSubstr("header length")))
        << length;
  }
  // Large enough for such a header, which the format forbids all the same.
  SUBMIX_ASSERT_OK(base::WriteFile(path_, LengthPrefix(100'000'001) + "{}"));
  std::filesystem::resize_file(path_, 100'000'100);
  EXPECT_THAT(SafetensorsFile::Open(path_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("header length")));
}

TEST_F(SafetensorsDamageTest, WhatIsNoFileOfBytesIsRefused) {
  EXPECT_THAT(SafetensorsFile::Open(directory_.File("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(SafetensorsFile::Open(directory_.path()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("not a regular file")));
  ASSERT_EQ(::mkfifo(directory_.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(SafetensorsFile::Open(directory_.File("pipe")),
              StatusIs(StatusCode::kDataLoss, HasSubstr("not a regular file")));
}

TEST_F(SafetensorsDamageTest, EveryTruncationIsRefused) {
  const std::vector<float> values = {1, 2, 3};
  SUBMIX_ASSERT_OK(WriteSafetensors(path_, std::vector<NamedTensor>{{"w", {3}, values}},
                                    Dtype::kF32, {{"format", "pt"}}));
  for (std::size_t size = std::filesystem::file_size(path_); size > 0; --size) {
    std::filesystem::resize_file(path_, size - 1);
    EXPECT_THAT(SafetensorsFile::Open(path_), StatusIs(StatusCode::kDataLoss, HasSubstr(path_)))
        << size;
  }
}

// A file in memory, rewritten thousands of times without a disk.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("mutation", MFD_CLOEXEC)) { EXPECT_GE(fd_, 0); }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void Write(const std::string& bytes) {
    ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes.size())), 0);
    ASSERT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

 private:
  int fd_;
};

// The tensors lie side by side in a stretch as long as what is behind the header: so none reaches
// out of it.
void ExpectTensorsCoverTheBuffer(const SafetensorsFile& file, std::size_t buffer_size) {
  std::size_t total = 0;
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;
  for (const auto& [name, tensor] : file.tensors()) {
    EXPECT_EQ(file.Read(name, tensor.shape).ok(), tensor.dtype != Dtype::kOther);
    if (tensor.bytes.empty()) continue;
    const std::byte* end = tensor.bytes.data() + tensor.bytes.size();
    if (first == nullptr || tensor.bytes.data() < first) first = tensor.bytes.data();
    if (last == nullptr || end > last) last = end;
    total += tensor.bytes.size();
  }
  ASSERT_EQ(total, buffer_size);
  ASSERT_EQ(static_cast<std::size_t>(last - first), buffer_size);
}

class HeaderMutator {
 public:
  explicit HeaderMutator(std::string original) : original_(std::move(original)) {
    std::memcpy(&header_size_, original_.data(), 8);
  }

  // The original with one to three changes within length and header.
  std::string Mutate() {
    std::string bytes = original_;
    for (std::size_t changes = 1 + Below(3); changes > 0; --changes) Change(bytes);
    return bytes;
  }

 private:
  std::size_t Below(std::size_t bound) {
    return static_cast<std::size_t>(random_->NextBelow(bound));
  }
  void Change(std::string& bytes) {
    const std::string alphabet = "0123456789-.eE[]{}\",: \\unlftrAF_";
    const std::size_t at = Below(8 + header_size_);
    switch (Below(4)) {
      case 0:  // a bit
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        return;
      case 1:  // a character that means something to JSON
        bytes[at] = alphabet[Below(alphabet.size())];
        return;
      case 2:  // a cut that the length knows nothing of
        bytes.erase(at, 1 + Below(4));
        return;
      default: {  // a cut with the length put right
        const std::size_t count = 1 + Below(12);
        bytes.erase(8 + Below(header_size_ - count), count);
        bytes.replace(0, 8, LengthPrefix(header_size_ - count));
      }
    }
  }

  std::string original_;
  std::uint64_t header_size_ = 0;
  std::unique_ptr<base::RandomSource> random_ = base::MakeSeededRandomSource(20);
};

TEST(SafetensorsMutationTest, MutatedHeadersAreRefusedOrHarmless) {
  constexpr int kMutations = 8'000;
  SUBMIX_ASSERT_OK_AND_ASSIGN(std::string original,
                              base::ReadFile(SUBMIX_TESTDATA_DIR "/model/peft_one_layer/"
                                                                 "adapter_model.safetensors"));
  HeaderMutator mutator(std::move(original));
  MemoryFile memory_file;
  int opened = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string bytes = mutator.Mutate();
    memory_file.Write(bytes);
    const auto file = SafetensorsFile::Open(memory_file.path());
    if (!file.ok()) continue;
    ++opened;
    std::uint64_t header_size = 0;
    std::memcpy(&header_size, bytes.data(), 8);
    ExpectTensorsCoverTheBuffer(**file, bytes.size() - 8 - static_cast<std::size_t>(header_size));
  }
  EXPECT_GT(opened, 0);  // a changed letter of a name is harmless
  EXPECT_LT(opened, kMutations / 2);
}

}  // namespace safetensors_damage_test
}  // namespace submix::model
