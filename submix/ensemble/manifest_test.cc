#include "submix/ensemble/manifest.h"

#include <cmath>
#include <limits>
#include <set>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::ensemble {
namespace manifest_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Manifest Example() {
  Manifest manifest;
  manifest.generation = 2;
  manifest.parent_sha256 = std::string(64, 'a');
  manifest.partition_key_id = "5f1d0c7a9b3e2468";
  manifest.num_parts = 2;
  manifest.halves = 2;
  manifest.heldout_fraction = 0.1;
  manifest.hyper_parameters = {{"learning_rate", "0.0003"}, {"rank", "8"}};
  manifest.members = {{"members/00a", 1, 400, true, std::string(64, 'f')},
                      {"members/00b", 1, 400, true, ""},
                      {"members/01a-g2", 2, 12'345'678'901, false, ""},
                      {"members/01b", 1, 0, true, ""}};
  manifest.deployments = {{"keyboard", "c0ffee", "submix", 2.0, 2.0},
                          {"desk", "5eed", "dclip", 1.0 / 3, kInfinity, "/srv/desk"}};
  manifest.forgotten = {"0123456789abcdef"};
  manifest.file_sha256 = {{"public/config.json", std::string(64, '1')},
                          {"members/00a/adapter_config.json", std::string(64, '2')}};
  return manifest;
}

void ExpectEqual(const Manifest& a, const Manifest& b) {
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_EQ(a.parent_sha256, b.parent_sha256);
  EXPECT_EQ(a.partition_key_id, b.partition_key_id);
  EXPECT_EQ(a.num_parts, b.num_parts);
  EXPECT_EQ(a.halves, b.halves);
  EXPECT_EQ(a.heldout_fraction, b.heldout_fraction);
  EXPECT_EQ(a.hyper_parameters, b.hyper_parameters);
  EXPECT_EQ(a.forgotten, b.forgotten);
  EXPECT_EQ(a.file_sha256, b.file_sha256);
  ASSERT_EQ(a.members.size(), b.members.size());
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    EXPECT_EQ(a.members[i].directory, b.members[i].directory);
    EXPECT_EQ(a.members[i].generation, b.members[i].generation);
    EXPECT_EQ(a.members[i].steps, b.members[i].steps);
    EXPECT_EQ(a.members[i].complete, b.members[i].complete);
    EXPECT_EQ(a.members[i].recipe_sha256, b.members[i].recipe_sha256);
  }
  ASSERT_EQ(a.deployments.size(), b.deployments.size());
  for (std::size_t i = 0; i < a.deployments.size(); ++i) {
    EXPECT_EQ(a.deployments[i].name, b.deployments[i].name);
    EXPECT_EQ(a.deployments[i].lineage, b.deployments[i].lineage);
    EXPECT_EQ(a.deployments[i].mechanism, b.deployments[i].mechanism);
    EXPECT_EQ(a.deployments[i].epsilon, b.deployments[i].epsilon);
    EXPECT_EQ(a.deployments[i].order, b.deployments[i].order);
  }
}

class ManifestTest : public ::testing::Test {
 protected:
  // The example as saved, with `from` replaced by `to`.
  base::StatusOr<Manifest> LoadWith(const std::string& from, const std::string& to) {
    EXPECT_THAT(SaveManifest(Example(), directory_.path()), base::IsOk());
    std::string text = *base::ReadFile(path_);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_THAT(base::WriteFile(path_, text), base::IsOk());
    return LoadManifest(directory_.path());
  }
  base::Status Save(const Manifest& manifest) { return SaveManifest(manifest, directory_.path()); }

  base::TemporaryDirectory directory_;
  std::string path_ = ManifestPath(directory_.path());
};

TEST(MemberDirectoryTest, PairsHaveLettersAndNumbersHaveEqualLength) {
  EXPECT_EQ(MemberDirectory(0, 0, 8, 2), "members/00a");
  EXPECT_EQ(MemberDirectory(7, 1, 8, 2), "members/07b");
  EXPECT_EQ(MemberDirectory(0, 0, 1, 1), "members/00");
  EXPECT_EQ(MemberDirectory(98, 0, 99, 1), "members/98");
  EXPECT_EQ(MemberDirectory(5, 0, 100, 1), "members/005");
  EXPECT_EQ(MemberDirectory(128, 1, 129, 2), "members/128b");
  EXPECT_EQ(MemberDirectory(5, 0, 1000, 1), "members/0005");
  EXPECT_EQ(MemberDirectory(7, 1, 8, 2, 3), "members/07b-g3");
}

TEST_F(ManifestTest, WhatIsSavedIsLoaded) {
  SUBMIX_ASSERT_OK(Save(Example()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest(directory_.path()));
  ExpectEqual(loaded, Example());
}

TEST_F(ManifestTest, AMemberWithoutStepsIsThePublicModelOnceItIsComplete) {
  SUBMIX_ASSERT_OK(Save(Example()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest(directory_.path()));
  EXPECT_FALSE(loaded.members[0].is_public_model());
  EXPECT_TRUE(loaded.members[3].is_public_model());
  MemberEntry begun = loaded.members[3];
  begun.complete = false;
  EXPECT_FALSE(begun.is_public_model());
}

TEST_F(ManifestTest, ContextsAreSavedAndPartOfTheFingerprint) {
  Manifest manifest = Example();
  const auto plain = EnsembleFingerprint(manifest);
  manifest.contexts = Contexts{256, Retrieval::kBm25};
  SUBMIX_ASSERT_OK(Save(manifest));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest(directory_.path()));
  EXPECT_EQ(loaded.contexts, manifest.contexts);
  std::set<base::Sha256Digest> fingerprints = {plain, EnsembleFingerprint(loaded)};
  for (const Contexts& other : {Contexts{255, Retrieval::kBm25}, Contexts{256, Retrieval::kNone},
                                Contexts{256, Retrieval::kBm25, true}}) {
    manifest.contexts = other;
    fingerprints.insert(EnsembleFingerprint(manifest));
  }
  EXPECT_EQ(fingerprints.size(), 5u);
  // Programs that know of no contexts refuse it instead of looking for adapters.
  EXPECT_THAT(*base::ReadFile(path_), HasSubstr("\"format\": 3"));
  EXPECT_THAT(*base::ReadFile(path_), Not(HasSubstr("\"adapters\"")));
}

TEST_F(ManifestTest, AdaptersThatReadAreSaved) {
  Manifest manifest = Example();
  manifest.contexts = Contexts{256, Retrieval::kBm25, /*has_adapters=*/true};
  SUBMIX_ASSERT_OK(Save(manifest));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest(directory_.path()));
  EXPECT_EQ(loaded.contexts, manifest.contexts);
  // Programs that know of contexts alone would forget a user's records and keep the adapter.
  EXPECT_THAT(*base::ReadFile(path_), HasSubstr("\"format\": 4"));
}

// What is promised to users follows from it: programs that do not know it refuse it.
TEST_F(ManifestTest, PublicKeysAreSavedAndPartOfTheFingerprint) {
  Manifest manifest = Example();
  EXPECT_FALSE(manifest.has_public_keys());
  manifest.contexts = Contexts{256, Retrieval::kBm25};
  EXPECT_FALSE(manifest.has_public_keys());
  const auto without = EnsembleFingerprint(manifest);
  manifest.contexts->public_keys = true;
  SUBMIX_ASSERT_OK(Save(manifest));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest(directory_.path()));
  EXPECT_TRUE(loaded.has_public_keys());
  EXPECT_NE(EnsembleFingerprint(loaded), without);
  EXPECT_THAT(*base::ReadFile(path_), HasSubstr("\"format\": 4"));
}

TEST_F(ManifestTest, ATemplateIsSavedByteForByteAndPartOfTheFingerprint) {
  Manifest manifest = Example();
  manifest.contexts = Contexts{256, Retrieval::kBm25};
  const auto without = EnsembleFingerprint(manifest);
  manifest.contexts->record_template = "\"Été\": {record}\r\n\n";
  SUBMIX_ASSERT_OK(Save(manifest));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest loaded, LoadManifest(directory_.path()));
  EXPECT_EQ(loaded.contexts, manifest.contexts);
  EXPECT_NE(EnsembleFingerprint(loaded), without);
  EXPECT_THAT(*base::ReadFile(path_), HasSubstr("\"format\": 4"));
  for (const char* bad : {"no place", "{record} {record}", "{record", "{record}\xff"}) {
    manifest.contexts->record_template = bad;
    EXPECT_THAT(Save(manifest), StatusIs(StatusCode::kInvalidArgument, HasSubstr("template")));
  }
}

TEST_F(ManifestTest, WrongContextsAreRefused) {
  Manifest manifest = Example();
  // Whoever trains adapters divides users by a hash, several to a part.
  manifest.contexts = Contexts{.tokens = 256, .has_adapters = true, .public_keys = true};
  EXPECT_THAT(Save(manifest), StatusIs(StatusCode::kInvalidArgument, HasSubstr("public_keys")));
  for (const int tokens : {0, 15, (1 << 20) + 1}) {
    manifest.contexts = Contexts{tokens, Retrieval::kNone};
    EXPECT_THAT(Save(manifest),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"contexts.tokens\"")));
  }
  manifest.contexts = Contexts{256, Retrieval::kNone};
  SUBMIX_ASSERT_OK(Save(manifest));
  std::string text = *base::ReadFile(path_);
  text.replace(text.find("\"none\""), 6, "\"many\"");
  SUBMIX_ASSERT_OK(base::WriteFile(path_, text));
  EXPECT_THAT(LoadManifest(directory_.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("contexts.retrieval")));
}

TEST_F(ManifestTest, TheDocumentedExampleIsValid) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page,
                              base::ReadFile(SUBMIX_DATA_DIR "/../docs/manifest_format.md"));
  const std::string fence = "```json\n";
  const std::size_t begin = page.find(fence) + fence.size();
  const std::string example = page.substr(begin, page.find("```", begin) - begin);
  SUBMIX_ASSERT_OK(base::WriteFile(path_, example));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest manifest, LoadManifest(directory_.path()));
  EXPECT_EQ(manifest.deployments.at(0).order, kInfinity);
}

TEST_F(ManifestTest, InfiniteOrdersAreWrittenAsText) {
  SUBMIX_ASSERT_OK(Save(Example()));
  EXPECT_THAT(*base::ReadFile(path_), HasSubstr("\"order\": \"inf\""));
}

TEST_F(ManifestTest, ANewerFormatAsksForAnUpgrade) {
  for (const char* format : {"\"format\": 6", "\"format\": 7000000000"}) {
    EXPECT_THAT(LoadWith("\"format\": 1", format),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(path_), HasSubstr("written by a newer Submix (format "),
                               HasSubstr("; this one reads up to 5); upgrade"))));
  }
  // Whatever else a newer one holds.
  SUBMIX_ASSERT_OK(base::WriteFile(path_, "{\"format\": 6}"));
  EXPECT_THAT(LoadManifest(directory_.path()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("newer")));
}

TEST_F(ManifestTest, DamagedManifestsAreRefusedByField) {
  struct Case {
    const char* from;
    const char* to;
    const char* named;
  };
  for (const Case& c : {
           Case{"{", "", "not valid JSON"},
           Case{"\"format\": 1,", "", "\"format\""},
           Case{"\"format\": 1,", "\"format\": 0,", "\"format\""},
           Case{"\"generation\": 2,", "", "\"generation\""},
           Case{"\"generation\": 2,", "\"generation\": 0,", "\"generation\""},
           Case{"\"generation\": 2,", "\"generation\": 1,", "\"parent_sha256\""},
           Case{"aaaa", "AAAA", "\"parent_sha256\""},
           Case{"\"5f1d0c7a9b3e2468\"", "\"\"", "\"partition_key_id\""},
           Case{"\"num_parts\": 2", "\"num_parts\": 3", "\"members\""},
           Case{"\"num_parts\": 2", "\"num_parts\": 2.5", "\"num_parts\""},
           Case{"\"num_parts\": 2", "\"num_parts\": 1000001", "\"num_parts\""},
           Case{"\"halves\": 2", "\"halves\": 3", "\"halves\""},
           Case{"\"heldout_fraction\": 0.1", "\"heldout_fraction\": 1", "\"heldout_fraction\""},
           Case{"\"heldout_fraction\": 0.1", "\"heldout_fraction\": -0.1", "\"heldout_fraction\""},
           Case{"\"0.0003\"", "0.0003", "\"hyper_parameters\""},
           Case{"\"members/01a-g2\"", "\"members/../..\"", "\"members[2].directory\""},
           Case{"\"members/01a-g2\"", "\"members/00a\"", "\"members[2].directory\""},
           Case{"\"steps\": 12345678901", "\"steps\": -1", "\"members[2].steps\""},
           Case{"\"complete\": false", "\"complete\": 0", "\"members[2].complete\""},
           Case{"ffff", "fff", "\"members[0].recipe_sha256\""},
           Case{"0123456789abcdef", "0123456789ABCDEF", "\"forgotten\""},
           Case{"\"order\": \"inf\"", "\"order\": \"infinite\"", "\"deployments[1].order\""},
           Case{"\"order\": \"inf\"", "\"order\": 0.5", "\"deployments[1].order\""},
           Case{"\"epsilon\": 2.0", "\"epsilon\": -2.0", "\"deployments[0].epsilon\""},
           Case{"\"epsilon\": 2.0", "\"epsilon\": \"2\"", "\"deployments[0].epsilon\""},
           Case{"\"c0ffee\"", "\"\"", "\"deployments[0].lineage\""},
           Case{"\"public/config.json\"", "\"public/../../config.json\"", "\"file_sha256\""},
           Case{"\"public/config.json\"", "\"partition.key\"", "\"file_sha256\""},
           Case{"\"public/config.json\"", "\"public//config.json\"", "\"file_sha256\""},
           Case{"\"public/config.json\"", "\"public/\"", "\"file_sha256\""},
           Case{"1111\"", "111\"", "\"file_sha256\""},
       }) {
    EXPECT_THAT(LoadWith(c.from, c.to),
                StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(path_), HasSubstr(c.named))))
        << c.from << " → " << c.to;
  }
}

TEST_F(ManifestTest, DuplicateFieldsAreRefused) {
  EXPECT_THAT(LoadWith("\"halves\": 2", "\"halves\": 1, \"halves\": 2"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key \"halves\"")));
}

TEST_F(ManifestTest, AMissingManifestIsNotFound) {
  EXPECT_THAT(LoadManifest(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("manifest.json")));
}

TEST_F(ManifestTest, WhatCouldNotBeLoadedIsNotSaved) {
  SUBMIX_ASSERT_OK(Save(Example()));
  const auto refuses = [this](const auto& change) {
    Manifest manifest = Example();
    change(manifest);
    EXPECT_THAT(Save(manifest), StatusIs(StatusCode::kInvalidArgument, HasSubstr(path_)));
  };
  refuses([](Manifest& m) { m.generation = 0; });
  refuses([](Manifest& m) { m.parent_sha256.clear(); });
  refuses([](Manifest& m) { m.num_parts = 0; });
  refuses([](Manifest& m) { m.heldout_fraction = kNan; });
  refuses([](Manifest& m) { m.members.pop_back(); });
  refuses([](Manifest& m) { m.members[0].generation = 3; });
  refuses([](Manifest& m) { m.deployments[0].epsilon = kNan; });
  refuses([](Manifest& m) { m.deployments[0].epsilon = kInfinity; });
  refuses([](Manifest& m) { m.deployments[0].order = kNan; });
  refuses([](Manifest& m) { m.deployments[0].name = "\xff"; });
  refuses([](Manifest& m) { m.file_sha256["/etc/passwd"] = std::string(64, '0'); });
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Manifest kept, LoadManifest(directory_.path()));
  ExpectEqual(kept, Example());
}

TEST(EnsembleFingerprintTest, IsTheDocumentedHash) {
  Manifest manifest;
  manifest.partition_key_id = "key";
  manifest.num_parts = 10;
  manifest.file_sha256 = {{"public/a", std::string(64, '0')}};
  const std::string bytes =
      "submix ensemble 1\ngeneration 1:1\npartition_key_id 3:key\nnum_parts 2:10\nhalves 1:1\n"
      "path 8:public/a\nsha256 64:" +
      std::string(64, '0') + "\n";
  EXPECT_EQ(EnsembleFingerprint(manifest), base::Sha256(bytes));
  manifest.external = ExternalModels{std::string(64, 'e'), 50'257};
  std::string with_external = bytes;
  with_external.insert(bytes.find("path"),
                       "external 64:" + std::string(64, 'e') + "\nvocabulary 5:50257\n");
  EXPECT_EQ(EnsembleFingerprint(manifest), base::Sha256(with_external));
  manifest.external->public_sha256 = std::string(64, 'f');
  with_external.insert(with_external.find("path"),
                       "external_public 64:" + std::string(64, 'f') + "\n");
  EXPECT_EQ(EnsembleFingerprint(manifest), base::Sha256(with_external));
}

TEST(EnsembleFingerprintTest, ChangesWithWhatDecidesTheAnswers) {
  const base::Sha256Digest fingerprint = EnsembleFingerprint(Example());
  const auto differs = [&fingerprint](const auto& change) {
    Manifest manifest = Example();
    change(manifest);
    return EnsembleFingerprint(manifest) != fingerprint;
  };
  EXPECT_TRUE(differs([](Manifest& m) { m.generation = 3; }));
  EXPECT_TRUE(differs([](Manifest& m) { m.partition_key_id += "0"; }));
  EXPECT_TRUE(differs([](Manifest& m) { m.num_parts = 4; }));
  EXPECT_TRUE(differs([](Manifest& m) { m.halves = 1; }));
  EXPECT_TRUE(differs([](Manifest& m) { m.file_sha256.begin()->second[0] = '3'; }));
  EXPECT_TRUE(differs([](Manifest& m) { m.file_sha256.erase(m.file_sha256.begin()); }));
  EXPECT_FALSE(differs([](Manifest& m) { m.deployments.clear(); }));
  EXPECT_FALSE(differs([](Manifest& m) { m.hyper_parameters.clear(); }));
}

}  // namespace manifest_test
}  // namespace submix::ensemble
