#include "submix/model/safetensors.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::model {
namespace safetensors_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Shape = std::vector<std::int64_t>;

std::unique_ptr<SafetensorsFile> Opened(const std::string& path) {
  base::StatusOr<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::Open(path);
  SUBMIX_CHECK(file.ok(), file.status().ToString().c_str());
  return *std::move(file);
}

std::vector<float> Values(const SafetensorsFile& file, const std::string& name) {
  const TensorView& tensor = file.tensors().at(name);
  std::vector<float> values(static_cast<std::size_t>(tensor.num_elements()));
  ConvertToFloat(tensor, values);
  return values;
}

// Bits, so that the sign of zero counts.
std::vector<std::uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

class SafetensorsTest : public ::testing::Test {
 protected:
  base::TemporaryDirectory directory_;
  std::string path_ = directory_.File("tensors.safetensors");
};

TEST_F(SafetensorsTest, ReadsAFileOfAnotherWriter) {
  const auto file = Opened(SUBMIX_TESTDATA_DIR "/model/dtypes.safetensors");
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("format", "pt"), Pair("writer", "generate.py")));
  EXPECT_EQ(file->tensors().size(), 6u);
  EXPECT_THAT(Values(*file, "odd"), ElementsAre(1.0f, -1.0f, 3.140625f));
  EXPECT_THAT(*file->Read("odd", Shape{1, 3}), ElementsAre(1.0f, -1.0f, 3.140625f));
  EXPECT_THAT(*file->Read("scalar", Shape{}), ElementsAre(0.5f));
  EXPECT_THAT(*file->Read("empty", Shape{0, 5}), IsEmpty());
}

TEST_F(SafetensorsTest, OurRoundingIsPythons) {
  const auto python = Opened(SUBMIX_TESTDATA_DIR "/model/dtypes.safetensors");
  const std::vector<float> values = Values(*python, "f32");
  const auto count = static_cast<std::int64_t>(values.size());
  for (const auto& [name, dtype] : {std::pair{"f16", Dtype::kF16}, {"bf16", Dtype::kBf16}}) {
    const std::vector<NamedTensor> tensors = {{name, {count}, values}};
    SUBMIX_ASSERT_OK(WriteSafetensors(path_, tensors, dtype, {}));
    EXPECT_EQ(BitsOf(Values(*Opened(path_), name)), BitsOf(Values(*python, name))) << name;
  }
}

TEST_F(SafetensorsTest, WhatIsWrittenIsReadInEveryDtype) {
  const std::vector<float> first = {0.5f, -2.0f, 65504.0f, 0.0f, -0.0f, 0x1p-14f};
  const std::vector<float> second = {1.0f};
  const std::vector<NamedTensor> tensors = {
      {"z", {2, 3}, first}, {"a", {}, second}, {"ü", {0}, {}}};
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16}) {
    SUBMIX_ASSERT_OK(WriteSafetensors(path_, tensors, dtype, {{"format", "pt"}}));
    const auto file = Opened(path_);
    EXPECT_EQ(file->path(), path_);
    EXPECT_EQ(file->metadata().at("format"), "pt");
    EXPECT_EQ(BitsOf(*file->Read("z", Shape{2, 3})), BitsOf(first));
    EXPECT_EQ(*file->Read("a", Shape{}), second);
    EXPECT_EQ(file->tensors().at("z").dtype, dtype);
    EXPECT_THAT(*file->Read("ü", Shape{0}), IsEmpty());
  }
}

TEST_F(SafetensorsTest, NarrowedTensorsLongerThanAPieceAreWhole) {
  std::vector<float> values(10'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251);
  const std::vector<NamedTensor> tensors = {{"long", {100, 100}, values}};
  SUBMIX_ASSERT_OK(WriteSafetensors(path_, tensors, Dtype::kBf16, {}));
  EXPECT_EQ(*Opened(path_)->Read("long", Shape{100, 100}), values);
}

TEST_F(SafetensorsTest, EqualContentGivesEqualBytesWithAnAlignedHeader) {
  const std::vector<float> a = {1, 2};
  const std::vector<float> b = {3};
  const std::string other_path = directory_.File("other.safetensors");
  SUBMIX_ASSERT_OK(WriteSafetensors(path_, std::vector<NamedTensor>{{"a", {2}, a}, {"b", {1}, b}},
                                    Dtype::kF32, {{"x", "1"}, {"format", "pt"}}));
  SUBMIX_ASSERT_OK(WriteSafetensors(other_path,
                                    std::vector<NamedTensor>{{"b", {1}, b}, {"a", {2}, a}},
                                    Dtype::kF32, {{"format", "pt"}, {"x", "1"}}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string bytes, base::ReadFile(path_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string others, base::ReadFile(other_path));
  EXPECT_EQ(bytes, others);
  EXPECT_EQ((bytes.size() - 3 * sizeof(float)) % 8, 0u);
}

TEST_F(SafetensorsTest, AFileWithoutTensorsIsValid) {
  SUBMIX_ASSERT_OK(WriteSafetensors(path_, {}, Dtype::kF32, {}));
  EXPECT_THAT(Opened(path_)->tensors(), IsEmpty());
}

TEST_F(SafetensorsTest, ReadNamesTensorAndShapes) {
  const std::vector<float> values = {1, 2};
  SUBMIX_ASSERT_OK(
      WriteSafetensors(path_, std::vector<NamedTensor>{{"w", {2}, values}}, Dtype::kF32, {}));
  const auto file = Opened(path_);
  EXPECT_THAT(file->Read("v", Shape{2}), StatusIs(StatusCode::kNotFound, HasSubstr("\"v\"")));
  EXPECT_THAT(file->Read("w", Shape{1, 2}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"w\": expected [1, 2], found [2]")));
}

TEST_F(SafetensorsTest, NamesThatJsonCannotHoldAreRefused) {
  const std::vector<NamedTensor> tensors = {{"\xff", {0}, {}}};
  EXPECT_THAT(WriteSafetensors(path_, tensors, Dtype::kF32, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
}

TEST_F(SafetensorsTest, AFailedWriteLeavesTheOldFile) {
  EXPECT_THAT(WriteSafetensors(directory_.File("none/x"), {}, Dtype::kF32, {}),
              StatusIs(StatusCode::kNotFound, HasSubstr("none/x")));
}

TEST_F(SafetensorsTest, AnOpenFileSurvivesItsReplacement) {
  const std::vector<float> old_values = {1};
  const std::vector<float> new_values = {2, 3};
  SUBMIX_ASSERT_OK(
      WriteSafetensors(path_, std::vector<NamedTensor>{{"w", {1}, old_values}}, Dtype::kF32, {}));
  const auto file = Opened(path_);
  SUBMIX_ASSERT_OK(
      WriteSafetensors(path_, std::vector<NamedTensor>{{"w", {2}, new_values}}, Dtype::kF32, {}));
  EXPECT_EQ(Values(*file, "w"), old_values);
}

TEST_F(SafetensorsTest, APurePythonReaderReadsWhatWeWrite) {
  if (std::system("python3 -c pass 2>/dev/null") != 0) GTEST_SKIP() << "python3 is missing";
  const std::vector<float> values = {0.1f, -1.0f / 3, 1e-6f, 123.456f, 65504, -0.0f};
  const std::string expected_path = directory_.File("expected.txt");
  for (const auto& [code, dtype] :
       {std::pair{"F32", Dtype::kF32}, {"F16", Dtype::kF16}, {"BF16", Dtype::kBf16}}) {
    const std::vector<NamedTensor> tensors = {{"transformer.wte.weight", {3, 2}, values},
                                              {"a.scalar", {}, std::span(values).first(1)}};
    SUBMIX_ASSERT_OK(WriteSafetensors(path_, tensors, dtype, {{"format", "pt"}}));
    std::ofstream expected(expected_path);
    expected << std::hexfloat;
    for (const NamedTensor& tensor : tensors) {
      std::string shape = ShapeText(tensor.shape);
      std::erase(shape, ' ');
      expected << tensor.name << " " << code << " " << shape;
      for (const float value : Values(*Opened(path_), tensor.name)) expected << " " << value;
      expected << "\n";
    }
    expected.close();
    const std::string command = "python3 " SUBMIX_TESTDATA_DIR "/model/read_safetensors.py '" +
                                path_ + "' '" + expected_path + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << code;
  }
}

TEST_F(SafetensorsTest, TheBundledModelIsTheReferenceModelInHalfPrecision) {
  const std::string reference_path = SUBMIX_SHARED_DIR "/data/models/base-8k/model.safetensors";
  if (!base::FileExists(reference_path)) GTEST_SKIP() << reference_path << " missing";
  const auto bundled = Opened(SUBMIX_DATA_DIR "/public_model/model.safetensors");
  const auto reference = Opened(reference_path);
  ASSERT_EQ(bundled->tensors().size(), 76u);
  ASSERT_EQ(reference->tensors().size(), 76u);
  for (const auto& [name, tensor] : reference->tensors()) {
    ASSERT_TRUE(bundled->tensors().contains(name)) << name;
    const std::vector<float> exact = Values(*reference, name);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const std::vector<float> rounded,
                                bundled->Read(name, tensor.shape));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      // Half an ulp: 2^-11 relative, 2^-25 among the subnormals.
      const float bound = std::max(std::abs(exact[i]) * 0x1p-11f, 0x1p-25f);
      ASSERT_LE(std::abs(rounded[i] - exact[i]), bound) << name << " " << i;
    }
  }
}

TEST_F(SafetensorsTest, OneNumberThatIsNotFiniteIsFoundWhereverItIs) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    for (const float wrong :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      for (std::size_t at = 0; at < 7; ++at) {
        std::vector<float> values = {-65504, 65504, 0, -0.0f, 1e-40f, -1, 1};
        const NamedTensor tensor = {"w", {7}, values};
        SUBMIX_ASSERT_OK(WriteSafetensors(path_, {&tensor, 1}, dtype, {}));
        EXPECT_TRUE(IsFinite(Opened(path_)->tensors().at("w")));
        values[at] = wrong;
        SUBMIX_ASSERT_OK(WriteSafetensors(path_, {&tensor, 1}, dtype, {}));
        EXPECT_FALSE(IsFinite(Opened(path_)->tensors().at("w"))) << DtypeName(dtype) << " " << at;
      }
    }
  }
}

}  // namespace safetensors_test
}  // namespace submix::model
