#include "submix/ensemble/preparation/ensemble_preparation.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::ensemble {
namespace ensemble_preparation_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The bundled model's tokenizer beside a config.json, in which `from` is replaced by `to`.
class FittingTokenizerTest : public testing::Test {
 protected:
  FittingTokenizerTest() {
    SUBMIX_EXPECT_OK(CopyTokenizer(SUBMIX_DATA_DIR "/public_model", directory_.path()));
    WriteConfig("8191", "8191");
  }
  void WriteConfig(const std::string& from, const std::string& to) const {
    std::string text = R"({"model_type": "gpt2", "vocab_size": 8192, "eos_token_id": 8191})";
    directory_.Write("config.json", text.replace(text.find(from), from.size(), to));
  }
  base::Status Load() const { return LoadFittingTokenizer(directory_.path()).status(); }

  const base::TemporaryDirectory directory_;
};

TEST_F(FittingTokenizerTest, FitsWhatItCameWith) { SUBMIX_EXPECT_OK(Load()); }

TEST_F(FittingTokenizerTest, WhatEndsATextMustBeATokenOfTheModel) {
  const auto is_refused = [](const char* file) {
    return StatusIs(StatusCode::kInvalidArgument,
                    AllOf(HasSubstr(file), HasSubstr("eos_token_id")));
  };
  WriteConfig("8191", "[0, 8192]");
  EXPECT_THAT(Load(), is_refused("/config.json"));
  WriteConfig("8191", "8191");
  directory_.Write("generation_config.json", R"({"eos_token_id": [0, 8192]})");
  EXPECT_THAT(Load(), is_refused("/generation_config.json"));
  directory_.Write("generation_config.json", R"({"eos_token_id": 0})");
  SUBMIX_EXPECT_OK(Load());
}

TEST_F(FittingTokenizerTest, ATokenizerOfAnotherModelIsRefused) {
  WriteConfig("8192, \"eos_token_id\": 8191", "8000, \"eos_token_id\": 0");
  EXPECT_THAT(Load(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not belong")));
}

}  // namespace ensemble_preparation_test
}  // namespace submix::ensemble
