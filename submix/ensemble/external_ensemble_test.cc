#include "submix/ensemble/external_ensemble.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/opened_ensemble.h"

namespace submix::ensemble {
namespace external_ensemble_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ExternalEnsembleTest : public ::testing::Test {
 protected:
  ExternalEnsembleTest() { directory_.Write("tokenizer/tokenizer.json", "words"); }

  Manifest Example(const ExternalModels& models = {std::string(64, 'a'), 100}, int parts = 3) {
    auto manifest = ExternalManifest(models, "users", parts, 2, tokenizer_, {"tokenizer.json"});
    SUBMIX_EXPECT_OK(manifest);
    return *std::move(manifest);
  }
  base::Status Make(const Manifest& manifest) {
    return MakeExternalEnsemble(manifest, tokenizer_, place_);
  }

  base::TemporaryDirectory directory_;
  const std::string tokenizer_ = directory_.File("tokenizer");
  const std::string place_ = directory_.File("ensemble");
};

TEST_F(ExternalEnsembleTest, HoldsTheTokenizerAndWhatIdentifiesTheModels) {
  SUBMIX_ASSERT_OK(Make(Example()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest made, LoadManifest(place_));
  EXPECT_EQ(made.external, (ExternalModels{std::string(64, 'a'), 100}));
  EXPECT_EQ(made.partition_key_id, "external users");
  EXPECT_EQ(made.num_parts, 3);
  EXPECT_EQ(made.num_members(), 6);
  EXPECT_TRUE(made.members.empty());
  EXPECT_THAT(made.file_sha256,
              ElementsAre(Pair("public/tokenizer.json", base::ToHex(base::Sha256("words")))));
  SUBMIX_EXPECT_OK(VerifyFiles(made, place_));
  EXPECT_THAT(OpenedEnsemble(place_, made).CheckHasModels(),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(place_), HasSubstr("outside Submix"))));
}

TEST_F(ExternalEnsembleTest, KeepsTheDigestOfThePublicModelAlone) {
  const ExternalModels models = {std::string(64, 'a'), 100, std::string(64, 'b')};
  SUBMIX_ASSERT_OK(Make(Example(models)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest made, LoadManifest(place_));
  EXPECT_EQ(made.external, models);
  EXPECT_THAT(Make(Example()), StatusIs(StatusCode::kAlreadyExists, HasSubstr("digest")));
}

TEST_F(ExternalEnsembleTest, NeedsNoTokenizer) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                              ExternalManifest({std::string(64, 'a'), 7}, "users", 1, 1, "", {}));
  SUBMIX_ASSERT_OK(MakeExternalEnsemble(manifest, "", place_ + "/"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest made, LoadManifest(place_));
  SUBMIX_EXPECT_OK(VerifyFiles(made, place_));
}

// So that the ensemble keeps its deployments, and with them the budget.
TEST_F(ExternalEnsembleTest, TheSameAgainIsTheSameEnsemble) {
  Manifest deployed = Example();
  SUBMIX_ASSERT_OK(Make(deployed));
  deployed.deployments = {{"tales", "c0ffee", "dclip", 1, 8}};
  SUBMIX_ASSERT_OK(SaveManifest(deployed, place_));
  SUBMIX_ASSERT_OK(Make(Example()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest found, LoadManifest(place_));
  EXPECT_EQ(found.deployments.size(), 1u);
}

TEST_F(ExternalEnsembleTest, AnythingElseInItsPlaceStaysThere) {
  SUBMIX_ASSERT_OK(Make(Example()));
  const std::string before = *base::ReadFile(ManifestPath(place_));
  const auto is_refused = StatusIs(StatusCode::kAlreadyExists, HasSubstr(place_));
  EXPECT_THAT(Make(Example({std::string(64, 'b'), 100})), is_refused);
  EXPECT_THAT(Make(Example({std::string(64, 'a'), 101})), is_refused);
  EXPECT_THAT(Make(Example({std::string(64, 'a'), 100}, 4)), is_refused);
  directory_.Write("tokenizer/tokenizer.json", "other words");
  EXPECT_THAT(Make(Example()), is_refused);
  EXPECT_EQ(*base::ReadFile(ManifestPath(place_)), before);
}

TEST_F(ExternalEnsembleTest, WrongManifestsAreRefused) {
  for (const ExternalModels& models :
       {ExternalModels{"abc", 100}, ExternalModels{std::string(64, 'A'), 100},
        ExternalModels{std::string(64, 'a'), 0}, ExternalModels{std::string(64, 'a'), 1 << 25}}) {
    EXPECT_THAT(Make(Example(models)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"external.")));
    EXPECT_FALSE(base::FileExists(place_) || base::FileExists(place_ + ".unfinished"));
  }
  Manifest with_member = Example();
  with_member.members.resize(6);
  EXPECT_THAT(Make(with_member), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"members\"")));
}

}  // namespace external_ensemble_test
}  // namespace submix::ensemble
