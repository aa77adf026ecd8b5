#include "submix/workbench/models/open_models.h"

#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/testing/watched_engine.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/model/testing/tiny_model.h"

namespace submix::workbench {
namespace open_models_test {

using base::StatusCode;
using base::StatusIs;
using ensemble::OpenedEnsemble;
using ::testing::HasSubstr;

constexpr int kParts = 2;

// Ensembles of tiny models, with a tokenizer of bytes.
class OpenModelsTest : public ::testing::Test {
 protected:
  OpenedEnsemble Make(const std::string& name, bool complete = true) {
    const std::string place = directory_.File(name);
    model::WriteTinyModel(place + "/public", model::TinyConfig(), 1);
    ensemble::Manifest manifest;
    manifest.num_parts = kParts;
    manifest.partition_key_id = "0123456789abcdef";
    for (int part = 0; part < kParts; ++part) {
      ensemble::MemberEntry& member = manifest.members.emplace_back();
      member.directory = ensemble::MemberDirectory(part, 0, kParts, 1);
      member.generation = 1;
      member.steps = 1;
      member.complete = complete;
      model::WriteTinyAdapter(place + "/" + member.directory, model::TinyConfig(), {},
                              static_cast<std::uint64_t>(2 + part));
    }
    SUBMIX_EXPECT_OK(ensemble::HashFiles(manifest, place));
    SUBMIX_EXPECT_OK(ensemble::SaveManifest(manifest, place));
    return *OpenedEnsemble::Open(place);
  }

  base::TemporaryDirectory directory_;
  const ModelOptions options_ = {.precision = "f32", .threads = 1};
};

TEST_F(OpenModelsTest, AllMembersOfAllEnsemblesAreRowsOfOnePredictor) {
  const OpenedEnsemble own = Make("own");
  const std::vector<OpenedEnsemble> extra = {Make("other")};
  const engine::LetterTokenizer tokenizer;
  const auto predictor = LoadEnsemble(options_, tokenizer, own, extra);
  SUBMIX_ASSERT_OK(predictor);
  EXPECT_EQ((*predictor)->num_members(), 2 * kParts);
  EXPECT_EQ((*predictor)->vocab_size(), tokenizer.vocab_size());
}

TEST_F(OpenModelsTest, WhatWasOpenedIsWhatIsUsed) {
  const OpenedEnsemble opened = Make("ensemble");
  const auto digest = ModelsDigest(options_, std::span(&opened, 1));
  SUBMIX_ASSERT_OK(digest);
  // Somebody writes another manifest: what was opened does not change.
  ensemble::Manifest changed = opened.manifest();
  changed.partition_key_id = "fedcba9876543210";
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(changed, opened.directory()));
  EXPECT_EQ(*ModelsDigest(options_, std::span(&opened, 1)), *digest);
  const OpenedEnsemble again = *OpenedEnsemble::Open(opened.directory());
  EXPECT_NE(*ModelsDigest(options_, std::span(&again, 1)), *digest);
  // A file that is not the one of the manifest is found before anything is made of it.
  SUBMIX_ASSERT_OK(base::WriteFile(opened.directory() + "/members/00/adapter_config.json", "{}"));
  EXPECT_THAT(ModelsDigest(options_, std::span(&opened, 1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("adapter_config.json")));
}

TEST_F(OpenModelsTest, PrecisionAndKeysDecideTheDigest) {
  const OpenedEnsemble opened = Make("ensemble");
  const std::span<const OpenedEnsemble> one(&opened, 1);
  EXPECT_NE(*ModelsDigest({.precision = "bf16"}, one), *ModelsDigest({.precision = "f32"}, one));
  EXPECT_NE(*ModelsDigest({.kv_cache = "int8"}, one), *ModelsDigest({}, one));
  EXPECT_EQ(*ModelsDigest({.threads = 1}, one), *ModelsDigest({.threads = 2}, one));
}

TEST_F(OpenModelsTest, MembersThatAreNotTrainedYetDoNotAnswer) {
  const OpenedEnsemble begun = Make("begun", /*complete=*/false);
  EXPECT_THAT(LoadEnsemble(options_, engine::LetterTokenizer(), begun),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not trained yet")));
}

TEST_F(OpenModelsTest, WhatARunnerHasNotIsRefusedByName) {
  const OpenedEnsemble opened = Make("ensemble");
  const auto load = [&](const ModelOptions& options) {
    return LoadPredictor(options, opened.public_directory(), {}, 0);
  };
  EXPECT_THAT(load({.predictor = "torch"}),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("no libtorch here")));
  EXPECT_THAT(load({.predictor = "torch", .kv_cache = "int8"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--kv-cache int8")));
  EXPECT_THAT(load({.predictor = "external:/tmp/socket"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a whole ensemble")));
}

TEST_F(OpenModelsTest, ExternalModelsWithoutATokenizerReadNoText) {
  ensemble::Manifest manifest;
  manifest.num_parts = kParts;
  manifest.external = ensemble::ExternalModels{std::string(64, 'a'), 100};
  const OpenedEnsemble external(directory_.File("external"), manifest);
  EXPECT_THAT(LoadTokenizer(external),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--tokenizer")));
  EXPECT_EQ(external.digest(), std::string(64, 'a'));
  EXPECT_EQ(*external.Vocabulary(), 100);
}

}  // namespace open_models_test
}  // namespace submix::workbench
