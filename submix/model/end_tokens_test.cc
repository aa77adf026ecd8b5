#include "submix/model/end_tokens.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::model {
namespace end_tokens_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EndTokensTest : public ::testing::Test {
 protected:
  void WriteConfig(const std::string& ends) {
    directory_.Write("config.json",
                     R"({"model_type": "llama", "vocab_size": 100, "eos_token_id": )" + ends + "}");
  }
  void WriteGeneration(const std::string& json) { directory_.Write(kGenerationConfigFile, json); }
  base::StatusOr<std::vector<int>> Load() const { return LoadEndTokens(directory_.path()); }

  const base::TemporaryDirectory directory_;
};

TEST_F(EndTokensTest, AreOneOrAList) {
  WriteConfig("7");
  EXPECT_THAT(Load().value(), ElementsAre(7));
  WriteConfig("[7, 99, 0]");
  EXPECT_THAT(Load().value(), ElementsAre(7, 99, 0));
}

TEST_F(EndTokensTest, OfTheGenerationsConfigurationCountInsteadOfTheModels) {
  WriteConfig("7");
  WriteGeneration(R"({"eos_token_id": [8, 9]})");
  EXPECT_THAT(Load().value(), ElementsAre(8, 9));
  for (const char* silent : {"{}", R"({"eos_token_id": null})"}) {
    WriteGeneration(silent);
    EXPECT_THAT(Load().value(), ElementsAre(7)) << silent;
  }
}

TEST_F(EndTokensTest, MayBeNone) {
  WriteConfig("null");
  EXPECT_THAT(Load().value(), ElementsAre());
  directory_.Write("config.json", R"({"model_type": "qwen2", "vocab_size": 100})");
  EXPECT_THAT(Load().value(), ElementsAre());
  directory_.Write("config.json", R"({"model_type": "llama", "vocab_size": 100})");
  EXPECT_THAT(Load().value(), ElementsAre(2));  // the default of Hugging Face's class
}

TEST_F(EndTokensTest, OutOfRangeAreRefusedByFileAndField) {
  for (const char* wrong : {"[]", "100", "-1", "[1, 100]", "1.5", "\"</s>\"", "1e99"}) {
    WriteConfig(wrong);
    EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("config.json"), HasSubstr("eos_token_id"))))
        << wrong;
  }
  WriteConfig("7");
  WriteGeneration(R"({"eos_token_id": [100]})");
  EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("generation_config.json")));
}

}  // namespace end_tokens_test
}  // namespace submix::model
