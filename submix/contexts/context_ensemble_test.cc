#include "submix/contexts/context_ensemble.h"

#include <filesystem>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::contexts {
namespace context_ensemble_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr int kParts = 3;

base::HashKey FixedKey() {
  base::HashKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(3 * i + 1);
  return key;
}

std::vector<std::string> Texts(const std::vector<ContextRecord>& records) {
  std::vector<std::string> texts;
  for (const ContextRecord& record : records) texts.push_back(record.text);
  return texts;
}

class ContextEnsembleTest : public ::testing::Test {
 protected:
  // Users a to h with two records each, but for those left out; those emptied have empty ones.
  std::string Corpus(const std::string& left_out, const std::string& emptied = "") {
    std::string lines;
    for (const std::string number : {"1", "2"}) {
      for (char user = 'a'; user <= 'h'; ++user) {
        if (left_out.find(user) != std::string::npos) continue;
        const bool is_empty = emptied.find(user) != std::string::npos;
        lines += std::string("{\"user\": \"") + user + "\", \"text\": \"" +
                 (is_empty ? "" : std::string("\\\"") + user + "\\\"\\n" + number + " é") + "\"}\n";
      }
    }
    directory_.Write("corpus.jsonl", lines);
    return directory_.File("corpus.jsonl");
  }

  PartitionedRecords Partition(const std::string& left_out = "", double heldout_fraction = 0) {
    auto partitioned =
        PartitionRecords(Corpus(left_out), FixedKey(), {kParts, 1, heldout_fraction}, 1, false);
    SUBMIX_EXPECT_OK(partitioned);
    return std::move(partitioned->front());
  }

  // One user a part. By rank under the fixed key they are c, f, h, b, e, d, a, g (Python's hmac).
  PartitionedRecords PartitionListed(const std::string& emptied = "", int halves = 1) {
    auto partitioned =
        PartitionRecords(Corpus("", emptied), FixedKey(), {kParts, halves, 0}, 1, true);
    SUBMIX_EXPECT_OK(partitioned);
    return std::move(partitioned->front());
  }

  static std::size_t PartOf(const std::string& user) {
    return static_cast<std::size_t>(corpus::PlaceUser(FixedKey(), user, {kParts, 1, 0}).part.index);
  }

  void Make(const PartitionedRecords& records, bool public_keys = false) {
    SUBMIX_ASSERT_OK(base::MakeDirectories(place_));
    SUBMIX_ASSERT_OK(corpus::SavePartitionKey(FixedKey(), ensemble::PartitionKeyPath(place_)));
    ensemble::Manifest manifest;
    manifest.partition_key_id = corpus::PartitionKeyId(FixedKey());
    manifest.num_parts = kParts;
    manifest.contexts = {64, ensemble::Retrieval::kBm25, false, public_keys};
    manifest.users = std::ssize(records.readers);
    for (int part = 0; part < kParts; ++part) {
      manifest.members.push_back({ensemble::MemberDirectory(part, 0, kParts, 1), 1, 0, false, ""});
    }
    SUBMIX_ASSERT_OK(SaveContextEnsemble(records.members, manifest, place_));
  }

  ensemble::Manifest Manifest() {
    auto manifest = ensemble::LoadManifest(place_);
    SUBMIX_EXPECT_OK(manifest);
    return *std::move(manifest);
  }
  std::vector<ContextRecord> Read(std::size_t member) {
    auto records = LoadRecords(ensemble::MemberPath(place_, Manifest().members[member]));
    SUBMIX_EXPECT_OK(records);
    return *std::move(records);
  }

  base::TemporaryDirectory directory_;
  const std::string place_ = directory_.File("ensemble");
};

TEST_F(ContextEnsembleTest, WhatIsWrittenIsReadAndPinned) {
  const PartitionedRecords records = Partition();
  Make(records);
  std::size_t count = 0;
  for (std::size_t m = 0; m < kParts; ++m) {
    EXPECT_EQ(Texts(Read(m)), Texts(records.members[m]));
    EXPECT_EQ(Manifest().members[m].steps, std::ssize(records.members[m]));
    count += records.members[m].size();
  }
  EXPECT_EQ(count, 16u);
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
  SUBMIX_ASSERT_OK(base::WriteFile(place_ + "/members/00/records.jsonl", "{}\n"));
  EXPECT_THAT(ensemble::VerifyFiles(Manifest(), place_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("members/00/records.jsonl")));
}

// Theorem 5: a user moves no record of another, in no member, and the held out are in none.
TEST_F(ContextEnsembleTest, NobodysPresenceMovesAnothersRecords) {
  const PartitionedRecords all = Partition();
  for (const std::string left_out : {"a", "e", "bcd"}) {
    const PartitionedRecords some = Partition(left_out);
    EXPECT_EQ(some.readers.size(), 8 - left_out.size());
    for (std::size_t m = 0; m < kParts; ++m) {
      std::vector<std::string> expected = Texts(all.members[m]);
      std::erase_if(expected, [&](const std::string& text) {
        return left_out.find(text[1]) != std::string::npos;
      });
      EXPECT_EQ(Texts(some.members[m]), expected);
    }
  }
  const PartitionedRecords fewer = Partition("", 0.5);
  EXPECT_GT(fewer.readers.size(), 0u);
  EXPECT_LT(fewer.readers.size(), 8u);
}

TEST_F(ContextEnsembleTest, ForgettingIsAsIfTheUserHadNeverBeenThere) {
  Make(Partition());
  const std::string parent = base::ToHex(ensemble::EnsembleFingerprint(Manifest()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult forgotten, ForgetRecords(place_, "d"));
  const std::size_t member = PartOf("d");
  EXPECT_EQ(forgotten.member, Manifest().members[member].directory);
  EXPECT_EQ(forgotten.generation, 2);
  EXPECT_EQ(Manifest().parent_sha256, parent);
  EXPECT_EQ(Manifest().users, 7);
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
  const PartitionedRecords without = Partition("d");
  for (std::size_t m = 0; m < kParts; ++m) EXPECT_EQ(Texts(Read(m)), Texts(without.members[m]));
  for (const auto& file : std::filesystem::recursive_directory_iterator(place_)) {
    if (!file.is_regular_file()) continue;
    const std::string bytes = *base::ReadFile(file.path());
    EXPECT_EQ(bytes.find("\\\"d\\\""), std::string::npos) << file.path();
  }
  // Again: the same, and nothing new.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult again, ForgetRecords(place_, "d"));
  EXPECT_EQ(again.generation, 2);
}

// Wrong keys are placed as others are, some of them among the held out.
TEST_F(ContextEnsembleTest, NobodyIsForgottenByAKeyThatNobodyHad) {
  Make(Partition());
  ensemble::Manifest manifest = Manifest();
  manifest.heldout_fraction = 0.5;
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, place_));
  int held_out = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string user = "nobody " + std::to_string(i);
    held_out += corpus::PlaceUser(FixedKey(), user, {kParts, 1, 0.5}).is_heldout ? 1 : 0;
    EXPECT_THAT(ForgetRecords(place_, user),
                StatusIs(StatusCode::kNotFound, HasSubstr("no member reads")));
  }
  EXPECT_GT(held_out, 0);
  EXPECT_EQ(Manifest().generation, 1);
}

TEST_F(ContextEnsembleTest, TheLastUserOfAPartLeavesThePublicModel) {
  Make(Partition());
  const std::size_t member = PartOf("a");
  bool is_public_model = false;
  for (char user = 'a'; user <= 'h'; ++user) {
    if (PartOf({user}) != member) continue;
    SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult forgotten,
                                ForgetRecords(place_, {user}));
    is_public_model = forgotten.is_public_model;
  }
  EXPECT_TRUE(is_public_model);
  EXPECT_TRUE(Manifest().members[member].is_public_model());
  EXPECT_TRUE(Read(member).empty());
}

// Stopped between the records and the manifest: the ensemble opens for nobody, and the same call
// ends it.
TEST_F(ContextEnsembleTest, AnInterruptedForgettingIsFinished) {
  Make(Partition());
  const std::string before = *base::ReadFile(ensemble::ManifestPath(place_));
  SUBMIX_ASSERT_OK(ForgetRecords(place_, "d"));
  SUBMIX_ASSERT_OK(base::WriteFile(ensemble::ManifestPath(place_), before));
  EXPECT_FALSE(ensemble::VerifyFiles(Manifest(), place_).ok());
  SUBMIX_ASSERT_OK(ForgetRecords(place_, "d"));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
  EXPECT_EQ(Texts(Read(PartOf("d"))), Texts(Partition("d").members[PartOf("d")]));
  // Or within the removal of the old ones.
  SUBMIX_ASSERT_OK(base::WriteFile(ensemble::ManifestPath(place_), before));
  SUBMIX_ASSERT_OK(
      base::MakeDirectories(ensemble::MemberPath(place_, Manifest().members[PartOf("d")])));
  SUBMIX_ASSERT_OK(ForgetRecords(place_, "d"));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
}

TEST_F(ContextEnsembleTest, OfAdaptersStepsAreThoseOfTheTraining) {
  const PartitionedRecords records = Partition();
  Make(records);
  ensemble::Manifest manifest = Manifest();
  manifest.contexts->has_adapters = true;
  for (ensemble::MemberEntry& member : manifest.members) member.steps = 40;
  SUBMIX_ASSERT_OK(SaveContextEnsemble(records.members, manifest, place_));
  for (const ensemble::MemberEntry& member : Manifest().members) EXPECT_EQ(member.steps, 40);
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
}

// The neighbouring world of a public list: one part is null, and nothing else moves.
TEST_F(ContextEnsembleTest, WithPublicKeysAnEmptiedUserEmptiesOnePart) {
  const PartitionedRecords all = PartitionListed();
  EXPECT_THAT(Texts(all.members[0]), UnorderedElementsAre("\"c\"\n1 é", "\"c\"\n2 é"));
  EXPECT_THAT(Texts(all.members[1]), Each(StartsWith("\"f\"")));
  EXPECT_THAT(Texts(all.members[2]), Each(StartsWith("\"h\"")));
  EXPECT_THAT(all.readers, ElementsAre("c", "f", "h"));
  const PartitionedRecords without = PartitionListed("f");
  EXPECT_EQ(Texts(without.members[0]), Texts(all.members[0]));
  EXPECT_TRUE(without.members[1].empty());
  EXPECT_EQ(Texts(without.members[2]), Texts(all.members[2]));
  EXPECT_THAT(without.readers, ElementsAre("c", "h"));
  // Of two halves one reads the part's user.
  const PartitionedRecords halves = PartitionListed("", 2);
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(halves.members[2 * part].size() + halves.members[2 * part + 1].size(), 2u);
  }
}

// Nor does it move anybody that a listed user's records turn out to be others', too.
TEST_F(ContextEnsembleTest, WithPublicKeysRecordsOfSeveralOwnersEmptyOnePart) {
  const PartitionedRecords emptied = PartitionListed("f");
  std::string lines = *base::ReadFile(Corpus(""));
  const std::string user = "{\"user\": \"f\"";
  for (std::size_t at = 0; (at = lines.find(user, at)) != std::string::npos; at += user.size()) {
    lines.insert(at + user.size(), ", \"owners\": [\"f\", \"z\"]");
  }
  directory_.Write("shared.jsonl", lines);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto shared,
                              PartitionRecords(corpus::CorpusFile(directory_.File("shared.jsonl")),
                                               FixedKey(), {kParts, 1, 0}, 1, true));
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(Texts(shared.front().members[part]), Texts(emptied.members[part])) << part;
  }
  EXPECT_EQ(shared.front().readers, emptied.readers);
}

TEST_F(ContextEnsembleTest, WithPublicKeysEveryPartNeedsAUser) {
  const auto made = PartitionRecords(Corpus("cdefgh"), FixedKey(), {kParts, 1, 0}, 1, true);
  EXPECT_THAT(made, StatusIs(StatusCode::kInvalidArgument,
                             AllOf(HasSubstr("corpus.jsonl: users that are not held out: 2"),
                                   HasSubstr("--parts"))));
}

TEST_F(ContextEnsembleTest, WithPublicKeysForgettingEmptiesThePartAndMovesNobody) {
  Make(PartitionListed(), true);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult forgotten, ForgetRecords(place_, "f"));
  EXPECT_EQ(forgotten.member, "members/01-g2");
  EXPECT_TRUE(forgotten.is_public_model);
  EXPECT_EQ(forgotten.generation, 2);
  const PartitionedRecords without = PartitionListed("f");
  for (std::size_t m = 0; m < kParts; ++m) EXPECT_EQ(Texts(Read(m)), Texts(without.members[m]));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult second, ForgetRecords(place_, "c"));
  EXPECT_EQ(second.member, "members/00-g3");
  // Again: the same, and nothing new.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult again, ForgetRecords(place_, "f"));
  EXPECT_EQ(again.member, "members/01-g2");
  EXPECT_EQ(again.generation, 3);
  for (const char* unread : {"a", "nobody"}) {
    EXPECT_THAT(ForgetRecords(place_, unread),
                StatusIs(StatusCode::kNotFound, HasSubstr("no member reads")));
  }
}

TEST_F(ContextEnsembleTest, AnInterruptedForgettingIsFinishedBeforeAnothers) {
  for (const bool public_keys : {false, true}) {
    SUBMIX_ASSERT_OK(base::RemoveAll(place_));
    Make(public_keys ? PartitionListed() : Partition(), public_keys);
    const std::string before = *base::ReadFile(ensemble::ManifestPath(place_));
    SUBMIX_ASSERT_OK(ForgetRecords(place_, "f"));
    SUBMIX_ASSERT_OK(base::WriteFile(ensemble::ManifestPath(place_), before));
    const std::string other = public_keys || PartOf("c") != PartOf("f") ? "c" : "h";
    EXPECT_THAT(ForgetRecords(place_, other),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("forget that user first")));
    SUBMIX_ASSERT_OK(ForgetRecords(place_, "f"));
    SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), place_));
    SUBMIX_EXPECT_OK(ForgetRecords(place_, other));
  }
}

// What users are promised holds of one user, in one part.
TEST_F(ContextEnsembleTest, WithPublicKeysAPartOfTwoUsersIsNotRead) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                              tokenizer::Tokenizer::Load(SUBMIX_DATA_DIR "/public_model"));
  PartitionedRecords records = PartitionListed();
  Make(records, true);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contexts, LoadContexts(Manifest(), place_, *tokenizer));
  EXPECT_EQ(contexts.num_members(), kParts);
  const ContextRecord moved = records.members[0].back();
  records.members[0].pop_back();
  records.members[1].push_back(moved);
  const auto refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("public_keys"));
  Make(records, true);
  EXPECT_THAT(LoadContexts(Manifest(), place_, *tokenizer), refused);
  // One user in two parts would pay twice.
  records.members[1] = {moved};
  Make(records, true);
  EXPECT_THAT(LoadContexts(Manifest(), place_, *tokenizer), refused);
  Make(records, false);
  SUBMIX_EXPECT_OK(LoadContexts(Manifest(), place_, *tokenizer));
}

// As a prompt with examples has it: one text, and the space before a record within its first word.
TEST_F(ContextEnsembleTest, ATemplateStandsAroundWhatIsRead) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                              tokenizer::Tokenizer::Load(SUBMIX_DATA_DIR "/public_model"));
  Make(Partition());
  ensemble::Manifest manifest = Manifest();
  manifest.contexts = {256, ensemble::Retrieval::kNone, false, false, "Review: {record}\n\n"};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contexts, LoadContexts(manifest, place_, *tokenizer));
  for (int member = 0; member < kParts; ++member) {
    Tokens expected;
    std::vector<std::string> texts = Texts(Read(static_cast<std::size_t>(member)));
    for (auto text = texts.rbegin(); text != texts.rend(); ++text) {
      for (const std::string& piece : {std::string("Review:"), " " + *text, std::string("\n\n")}) {
        const Tokens tokens = tokenizer->Encode(piece).value();
        expected.insert(expected.end(), tokens.begin(), tokens.end());
      }
    }
    if (!texts.empty()) expected.insert(expected.begin(), tokenizer->end_of_text());
    EXPECT_EQ(contexts.Of(member, {}), expected);
  }
  manifest.contexts->tokens = 16;
  manifest.contexts->record_template = std::string(200, 'x') + "{record}";
  EXPECT_THAT(LoadContexts(manifest, place_, *tokenizer),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("shorter --template")));
}

// In their template's turns, within the frame; a text is read as ever.
TEST_F(ContextEnsembleTest, ConversationsAreReadInTheTurnsOfThePublicModelsTemplate) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                              tokenizer::Tokenizer::Load(SUBMIX_DATA_DIR "/public_model"));
  ContextRecord talk{"mark", ""};
  talk.messages = {{chat::ChatRole::kUser, "who <|endoftext|>?"},
                   {chat::ChatRole::kAssistant, "me"}};
  Make({{{talk}, {{"other", "a text"}}, {}}, {}});
  EXPECT_EQ(Read(0).at(0).messages, talk.messages);
  EXPECT_THAT(LoadContexts(Manifest(), place_, *tokenizer),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no chat template")));
  SUBMIX_ASSERT_OK(base::MakeDirectories(place_ + "/public"));
  SUBMIX_ASSERT_OK(base::WriteFile(
      place_ + "/public/chat_template.jinja",
      "{% for m in messages %}{{ m.role + ' says ' + m.content + '<|endoftext|>' }}{% endfor %}"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto contexts, LoadContexts(Manifest(), place_, *tokenizer));
  const base::TokenId end = tokenizer->end_of_text();
  Tokens expected = {end};
  for (const std::string said : {"user says who <|endoftext|>?", "assistant says me", ""}) {
    const Tokens tokens = tokenizer->Encode(said).value();
    expected.insert(expected.end(), tokens.begin(), tokens.end());
    expected.push_back(end);
  }
  EXPECT_EQ(contexts.Of(0, {}), expected);
  Tokens text = tokenizer->Encode("a text").value();
  text.insert(text.begin(), end);
  text.push_back(end);
  EXPECT_EQ(contexts.Of(1, {}), text);
}

}  // namespace context_ensemble_test
}  // namespace submix::contexts
