#include "submix/train/fine_tuning/ensemble_training.h"

#include <algorithm>
#include <fstream>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/train/fine_tuning/forgetting.h"
#include "submix/train/fine_tuning/testing/thread_ranks.h"
#include "submix/train/models/torch_predictor.h"
#include "submix/train/recipes/testing/byte_model.h"

namespace submix::train {
namespace ensemble_training_test {

using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::HasSubstr;

constexpr auto kSilent = base::ProgressStyle::kSilent;
constexpr int kParts = 3;
constexpr int kUsers = 12;

class EnsembleTrainingTest : public testing::Test {
 protected:
  void SetUp() override {
    SUBMIX_ASSERT_OK(WriteByteModel(File("public")));
    base::HashKey key{};
    SUBMIX_ASSERT_OK(corpus::SavePartitionKey(key, File("key")));
    WriteCorpus("corpus.jsonl", /*left_out=*/-1, /*longer=*/-1);
  }

  std::string File(const std::string& name) const { return directory_.File(name); }
  static std::string User(int user) { return "user " + std::to_string(user); }

  void WriteCorpus(const std::string& name, int left_out, int longer) const {
    std::vector<int> users;
    for (int user = 0; user < kUsers; ++user) {
      if (user != left_out) users.push_back(user);
    }
    WriteCorpusOf(name, users, longer);
  }

  void WriteCorpusOf(const std::string& name, const std::vector<int>& users,
                     int longer = -1) const {
    std::ofstream stream(File(name));
    for (const int user : users) {
      for (int text = 0; text < (user == longer ? 3 : 2); ++text) {
        stream << R"({"user": ")" << User(user) << R"(", "text": "I am number )" << user * 7 + text
               << R"( and say so."})"
               << "\n";
      }
    }
  }

  EnsembleTrainingOptions Options(const std::string& ensemble, const std::string& corpus) const {
    EnsembleTrainingOptions options;
    options.public_directory = File("public");
    options.corpus = File(corpus);
    options.ensemble_directory = File(ensemble);
    options.partition = {kParts, /*halves=*/1, /*heldout_fraction=*/0};
    options.partition_key_path = File("key");
    options.fine_tune.lora->rank = 2;
    options.fine_tune.block_tokens = 16;
    options.fine_tune.batch_size = 2;
    options.fine_tune.learning_rate.peak = 0.01;
    options.fine_tune.threads = 1;
    options.fine_tune.checkpoint_every = 2;
    return options;
  }

  // Part that the key puts a user in.
  std::size_t PartOf(int user) const {
    return static_cast<std::size_t>(
        corpus::PlaceUser(base::HashKey{}, User(user), {kParts, 1, 0}).part.index);
  }

  std::string Adapter(const std::string& ensemble, std::size_t member) const {
    const auto manifest = ensemble::LoadManifest(File(ensemble));
    SUBMIX_EXPECT_OK(manifest);
    return base::ReadFile(ensemble::MemberPath(File(ensemble), manifest->members[member]) +
                          "/adapter_model.safetensors")
        .value();
  }

  // Whether a member's row of the reference predictor is, bit for bit, the public model's.
  std::vector<bool> RowsThatArePublic(const std::string& ensemble) const {
    TorchPredictorOptions options;
    options.public_directory = ensemble::PublicDirectory(File(ensemble));
    options.threads = 1;
    const auto manifest = ensemble::LoadManifest(File(ensemble));
    SUBMIX_EXPECT_OK(manifest);
    for (const auto& member : manifest->members) {
      options.member_directories.push_back(ensemble::MemberPath(File(ensemble), member));
    }
    const auto predictor = TorchPredictor::Load(options);
    SUBMIX_EXPECT_OK(predictor);
    const auto row = static_cast<std::size_t>((*predictor)->vocab_size());
    std::vector<float> logits((manifest->members.size() + 1) * row);
    const std::vector<base::TokenId> prompt = {'I', ' ', 'a'};
    const ensemble::Predictor::Append append = {(*predictor)->Open(), prompt};
    SUBMIX_EXPECT_OK((*predictor)->Step(std::span(&append, 1), logits));
    std::vector<bool> are_public;
    for (std::size_t m = 1; m <= manifest->members.size(); ++m) {
      are_public.push_back(std::equal(logits.begin(), logits.begin() + std::ptrdiff_t(row),
                                      logits.begin() + std::ptrdiff_t(m * row)));
    }
    return are_public;
  }

  static void TrainOnRanks(int size, EnsembleTrainingOptions options) {
    const FineTuneOptions fine_tune = options.fine_tune;
    const auto root = [&](Ranks& ranks) {
      SUBMIX_EXPECT_OK(TrainEnsemble(options, kSilent, &ranks));
    };
    const auto serve = [&](Ranks& ranks) { SUBMIX_EXPECT_OK(ServeMembers(ranks, fine_tune)); };
    RunOnThreadRanks(size, root, serve);
  }

  base::TemporaryDirectory directory_;
};

TEST_F(EnsembleTrainingTest, MakesACompleteEnsembleThatVerifies) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File("e")));
  ASSERT_EQ(manifest.members.size(), static_cast<std::size_t>(kParts));
  for (const auto& member : manifest.members) {
    EXPECT_TRUE(member.complete);
    EXPECT_GT(member.steps, 0);
  }
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, File("e")));
}

// Conversations, written by the public model's template: the loss is on their answers, which is
// part of the recipe, and forgetting reads them as they were read.
TEST_F(EnsembleTrainingTest, OfConversationsTheAnswersAreLearnt) {
  directory_.Write("public/chat_template.jinja",
                   "{% for m in messages %}{{ m.role + ':' + m.content + '<|endoftext|>' }}"
                   "{% endfor %}{{ 'assistant:' if add_generation_prompt }}");
  const auto write_talks = [&](const std::string& name, int left_out) {
    std::ofstream stream(File(name));
    for (int user = 0; user < kUsers; ++user) {
      if (user == left_out) continue;
      stream << R"({"user": ")" << User(user) << R"(", "messages": [{"role": "user", "content": )"
             << R"("who?"}, {"role": "assistant", "content": "I am )" << user << "\"}]}\n";
    }
  };
  write_talks("talks.jsonl", -1);
  write_talks("without.jsonl", 3);
  const auto train = [&](const std::string& ensemble, const std::string& corpus,
                         corpus::Loss loss) {
    EnsembleTrainingOptions options = Options(ensemble, corpus);
    options.loss = loss;
    return TrainEnsemble(options, kSilent);
  };
  SUBMIX_ASSERT_OK(train("answers", "talks.jsonl", corpus::Loss::kAnswers));
  SUBMIX_ASSERT_OK(train("all", "talks.jsonl", corpus::Loss::kAll));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto of_answers, ensemble::LoadManifest(File("answers")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto of_all, ensemble::LoadManifest(File("all")));
  EXPECT_FALSE(of_answers.hyper_parameters.contains("loss"));
  EXPECT_EQ(of_all.hyper_parameters.at("loss"), "all");
  EXPECT_NE(Adapter("answers", PartOf(3)), Adapter("all", PartOf(3)));
  EXPECT_THAT(train("answers", "talks.jsonl", corpus::Loss::kAll),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
  for (const std::string name : {"answers", "all"}) {
    SUBMIX_ASSERT_OK(ForgetUser(File(name), File("talks.jsonl"), User(3), kSilent).status());
  }
  SUBMIX_ASSERT_OK(train("never", "without.jsonl", corpus::Loss::kAnswers));
  SUBMIX_ASSERT_OK(train("never_all", "without.jsonl", corpus::Loss::kAll));
  EXPECT_EQ(Adapter("answers", PartOf(3)), Adapter("never", PartOf(3)));
  EXPECT_EQ(Adapter("all", PartOf(3)), Adapter("never_all", PartOf(3)));
}

TEST_F(EnsembleTrainingTest, OptionsOutOfRangeAreRefusedBeforeAnythingIsWritten) {
  EnsembleTrainingOptions options = Options("e", "corpus.jsonl");
  options.fine_tune.block_tokens = 1;
  EXPECT_THAT(TrainEnsemble(options, kSilent),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("block_tokens")));
  options = Options("e", "corpus.jsonl");
  options.fine_tune.lora->target_modules = {"q_proj"};
  EXPECT_THAT(TrainEnsemble(options, kSilent),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("q_proj")));
  EXPECT_FALSE(base::FileExists(File("e")));
  SUBMIX_EXPECT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
}

// Theorem 5 compares worlds that differ in one user, who may be alone in a part or in a half.
TEST_F(EnsembleTrainingTest, EveryDataSetMakesAnEnsembleInWhichWhoHasNoTextIsThePublicModel) {
  struct DataSet {
    const char* name;
    corpus::PartitionOptions partition;
    std::vector<int> users;
    bool lora = true;
  };
  const DataSet data_sets[] = {{"one user", {kParts, 1, 0}, {4}},
                               {"one half of one part", {kParts, 2, 0}, {4}},
                               {"whole models", {kParts, 1, 0}, {4}, false},
                               {"two users, pairs", {kParts, 2, 0}, {4, 5}},
                               {"all held out", {kParts, 2, 0.999999}, {0, 1, 2}}};
  for (const DataSet& set : data_sets) {
    SCOPED_TRACE(set.name);
    WriteCorpusOf("few.jsonl", set.users);
    EnsembleTrainingOptions options = Options(set.name, "few.jsonl");
    options.partition = set.partition;
    options.fine_tune.members_at_a_time = 2;
    if (!set.lora) options.fine_tune.lora.reset();
    SUBMIX_ASSERT_OK(TrainEnsemble(options, kSilent));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File(set.name)));
    SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, File(set.name)));
    std::vector<bool> expected(manifest.members.size(), true);
    for (const int user : set.users) {
      const auto place = corpus::PlaceUser(base::HashKey{}, User(user), set.partition);
      if (place.is_heldout) continue;
      expected[static_cast<std::size_t>(place.part.index * set.partition.halves + place.half)] =
          false;
    }
    EXPECT_EQ(RowsThatArePublic(set.name), expected);
    for (std::size_t m = 0; m < expected.size(); ++m) {
      EXPECT_TRUE(manifest.members[m].complete);
      EXPECT_EQ(manifest.members[m].is_public_model(), expected[m]) << m;
    }
  }
}

// So that every predictor does the same work for it: one of its shape, of numbers that add zero.
TEST_F(EnsembleTrainingTest, AMemberWithoutTextHasFilesOfTheShapeOfAnyOther) {
  WriteCorpusOf("few.jsonl", {4});
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "few.jsonl"), kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File("e")));
  const std::size_t trained = PartOf(4), empty = trained == 0 ? 1 : 0;
  const auto file = [&](std::size_t member) {
    return base::ReadFile(ensemble::MemberPath(File("e"), manifest.members[member]) +
                          "/adapter_config.json");
  };
  EXPECT_EQ(file(trained).value(), file(empty).value());
  EXPECT_EQ(Adapter("e", trained).size(), Adapter("e", empty).size());
  EXPECT_NE(Adapter("e", trained), Adapter("e", empty));
}

TEST_F(EnsembleTrainingTest, AUsersTextReachesNoMemberButItsOwn) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  WriteCorpus("changed.jsonl", /*left_out=*/-1, /*longer=*/4);
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("changed", "changed.jsonl"), kSilent));
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(Adapter("e", part) == Adapter("changed", part), part != PartOf(4)) << part;
  }
}

TEST_F(EnsembleTrainingTest, ReusesMembersOfTheSameRecipeAndTrainsTheOthers) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  WriteCorpus("changed.jsonl", /*left_out=*/-1, /*longer=*/4);
  EnsembleTrainingOptions options = Options("reusing", "changed.jsonl");
  options.reuse_directory = File("e");
  SUBMIX_ASSERT_OK(TrainEnsemble(options, kSilent));
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("anew", "changed.jsonl"), kSilent));
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(Adapter("reusing", part), Adapter("anew", part)) << part;
  }
}

TEST_F(EnsembleTrainingTest, GoesOnAfterAnInterruptionWithTheSameBits) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("whole", "corpus.jsonl"), kSilent));
  EnsembleTrainingOptions options = Options("cut", "corpus.jsonl");
  int updates = 0;
  options.fine_tune.should_stop = [&] { return ++updates > 7; };
  EXPECT_THAT(TrainEnsemble(options, kSilent), StatusIs(StatusCode::kUnavailable, _));
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("cut", "corpus.jsonl"), kSilent));
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(Adapter("cut", part), Adapter("whole", part)) << part;
  }
}

// Three members, in groups of one and of two; the third rank of three has none of the latter. Of
// one user, two members have nothing to train on.
TEST_F(EnsembleTrainingTest, GivesTheSameBitsOnAnyNumberOfRanks) {
  WriteCorpusOf("one user.jsonl", {4});
  for (const char* corpus : {"corpus.jsonl", "one user.jsonl"}) {
    for (const int at_a_time : {1, 2}) {
      const std::string name = std::to_string(at_a_time) + " at a time, " + corpus;
      SCOPED_TRACE(name);
      EnsembleTrainingOptions options = Options("alone, " + name, corpus);
      options.fine_tune.members_at_a_time = at_a_time;
      SUBMIX_ASSERT_OK(TrainEnsemble(options, kSilent));
      for (const int size : {2, 3}) {
        const std::string spread = std::to_string(size) + " ranks, " + name;
        options.ensemble_directory = File(spread);
        TrainOnRanks(size, options);
        TrainOnRanks(size, options);  // nothing is left to do
        for (std::size_t part = 0; part < kParts; ++part) {
          EXPECT_EQ(Adapter(spread, part), Adapter("alone, " + name, part)) << size << ' ' << part;
        }
      }
    }
  }
}

TEST_F(EnsembleTrainingTest, RefusesToGoOnWithOtherOptionsOrText) {
  EnsembleTrainingOptions options = Options("e", "corpus.jsonl");
  options.fine_tune.should_stop = [] { return true; };
  EXPECT_THAT(TrainEnsemble(options, kSilent), StatusIs(StatusCode::kUnavailable, _));
  EnsembleTrainingOptions other = Options("e", "corpus.jsonl");
  other.fine_tune.epochs = 2;
  EXPECT_THAT(TrainEnsemble(other, kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
  WriteCorpus("changed.jsonl", /*left_out=*/-1, /*longer=*/4);
  EXPECT_THAT(TrainEnsemble(Options("e", "changed.jsonl"), kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another corpus")));
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  EXPECT_THAT(TrainEnsemble(Options("e", "changed.jsonl"), kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another corpus")))
      << "when nothing is left to do, too";
}

TEST_F(EnsembleTrainingTest, TwoWritersNeverMeet) {
  SUBMIX_ASSERT_OK(base::MakeDirectories(File("e")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto lock, ensemble::LockEnsemble(File("e")));
  EXPECT_THAT(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent),
              StatusIs(StatusCode::kUnavailable, _));
}

TEST_F(EnsembleTrainingTest, ForgettingEqualsNeverHavingReadTheUser) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  const std::size_t part = PartOf(4);
  const std::string before = Adapter("e", part);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto old_manifest, ensemble::LoadManifest(File("e")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult result,
                              ForgetUser(File("e"), File("corpus.jsonl"), User(4), kSilent));
  EXPECT_EQ(result.generation, 2);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File("e")));
  EXPECT_EQ(manifest.parent_sha256, base::ToHex(ensemble::EnsembleFingerprint(old_manifest)));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, File("e")));
  EXPECT_FALSE(base::FileExists(ensemble::MemberPath(File("e"), old_manifest.members[part])));

  WriteCorpus("without.jsonl", /*left_out=*/4, /*longer=*/-1);
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("without", "without.jsonl"), kSilent));
  EXPECT_NE(Adapter("e", part), before);
  for (std::size_t other = 0; other < kParts; ++other) {
    EXPECT_EQ(Adapter("e", other), Adapter("without", other)) << other;
  }
}

// Some thirty tokens a text: what is cut off can move nothing.
TEST_F(EnsembleTrainingTest, ACapLeavesTheFirstTokensOfEveryUserAlsoWhereOneIsForgotten) {
  constexpr std::int64_t kTokens = 40;
  const auto capped = [&](const std::string& ensemble, const std::string& corpus) {
    EnsembleTrainingOptions options = Options(ensemble, corpus);
    options.tokens_per_user = kTokens;
    return options;
  };
  WriteCorpus("longer.jsonl", /*left_out=*/-1, /*longer=*/4);
  SUBMIX_ASSERT_OK(TrainEnsemble(capped("e", "corpus.jsonl"), kSilent));
  SUBMIX_ASSERT_OK(TrainEnsemble(capped("longer", "longer.jsonl"), kSilent));
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("uncapped", "corpus.jsonl"), kSilent));
  EXPECT_EQ(Adapter("e", PartOf(4)), Adapter("longer", PartOf(4)));
  EXPECT_NE(Adapter("e", PartOf(4)), Adapter("uncapped", PartOf(4)));
  EXPECT_THAT(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));

  SUBMIX_ASSERT_OK(ForgetUser(File("e"), File("longer.jsonl"), User(4), kSilent));
  WriteCorpus("without.jsonl", /*left_out=*/4, /*longer=*/-1);
  SUBMIX_ASSERT_OK(TrainEnsemble(capped("without", "without.jsonl"), kSilent));
  EXPECT_EQ(Adapter("e", PartOf(4)), Adapter("without", PartOf(4)));
}

TEST_F(EnsembleTrainingTest, ForgettingIsRepeatableAndNeverReadsTheUserAgain) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  SUBMIX_ASSERT_OK(ForgetUser(File("e"), File("corpus.jsonl"), User(4), kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult again,
                              ForgetUser(File("e"), File("corpus.jsonl"), User(4), kSilent));
  EXPECT_EQ(again.generation, 2);
  // Another user of the same part is forgotten; the corpus still holds the first one.
  int neighbour = 0;
  while (neighbour == 4 || PartOf(neighbour) != PartOf(4)) ++neighbour;
  SUBMIX_ASSERT_OK(ForgetUser(File("e"), File("corpus.jsonl"), User(neighbour), kSilent));
  WriteCorpus("without.jsonl", /*left_out=*/4, /*longer=*/-1);
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("f", "without.jsonl"), kSilent));
  SUBMIX_ASSERT_OK(ForgetUser(File("f"), File("without.jsonl"), User(neighbour), kSilent));
  EXPECT_EQ(Adapter("e", PartOf(4)), Adapter("f", PartOf(4)));
}

TEST_F(EnsembleTrainingTest, ForgettingTheLastUserOfAPartLeavesThePublicModel) {
  std::vector<int> users = {4};
  for (int user = 0; user < kUsers; ++user) {
    if (PartOf(user) != PartOf(4)) users.push_back(user);
  }
  WriteCorpusOf("alone.jsonl", users);
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "alone.jsonl"), kSilent));
  for (int call = 0; call < 2; ++call) {  // the second one has nothing to do
    SUBMIX_ASSERT_OK_AND_ASSIGN(const ensemble::ForgetResult result,
                                ForgetUser(File("e"), File("alone.jsonl"), User(4), kSilent));
    EXPECT_EQ(result.generation, 2);
    EXPECT_TRUE(result.is_public_model);
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File("e")));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, File("e")));
  users.erase(users.begin());
  WriteCorpusOf("without.jsonl", users);
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("without", "without.jsonl"), kSilent));
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ(Adapter("e", part), Adapter("without", part)) << part;
    EXPECT_EQ(manifest.members[part].is_public_model(), part == PartOf(4));
  }
}

TEST_F(EnsembleTrainingTest, AnInterruptedForgettingIsNobodyElses) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  int neighbour = 0;
  while (neighbour == 4 || PartOf(neighbour) != PartOf(4)) ++neighbour;
  // As a crash before the new manifest stands: the member in its place still knows the neighbour.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string old_manifest,
                              base::ReadFile(ensemble::ManifestPath(File("e"))));
  SUBMIX_ASSERT_OK(ForgetUser(File("e"), File("corpus.jsonl"), User(4), kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File("e")));
  SUBMIX_ASSERT_OK(base::WriteFile(ensemble::ManifestPath(File("e")), old_manifest));
  SUBMIX_ASSERT_OK(base::MakeDirectories(File("e/pending")));
  SUBMIX_ASSERT_OK(base::WriteFile(File("e/pending/user"), manifest.forgotten.front()));

  EXPECT_THAT(ForgetUser(File("e"), File("corpus.jsonl"), User(neighbour), kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another user")));
  SUBMIX_ASSERT_OK(ForgetUser(File("e"), File("corpus.jsonl"), User(4), kSilent));
  // As a crash behind the new manifest.
  SUBMIX_ASSERT_OK(base::MakeDirectories(File("e/pending")));
  SUBMIX_ASSERT_OK(base::WriteFile(File("e/pending/user"), manifest.forgotten.front()));
  SUBMIX_ASSERT_OK(ForgetUser(File("e"), File("corpus.jsonl"), User(neighbour), kSilent));
  EXPECT_FALSE(base::FileExists(File("e/pending")));
}

// Of members that also read: in one generation, wherever it was stopped.
TEST_F(EnsembleTrainingTest, ForgettingMovesTheRecordsBesideAnAdapter) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(File("e")));
  const std::string old_path = ensemble::MemberPath(File("e"), manifest.members[PartOf(4)]);
  SUBMIX_ASSERT_OK(base::WriteFile(old_path + "/records", "all"));
  manifest.contexts = {16, ensemble::Retrieval::kNone, /*has_adapters=*/true};
  SUBMIX_ASSERT_OK(ensemble::HashFiles(manifest, File("e")));
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, File("e")));
  const auto forget = [&](const MoveRecords& move_records) {
    return ForgetUser(File("e"), File("corpus.jsonl"), User(4), kSilent, move_records);
  };
  const std::string mark = corpus::ForgottenMark(base::HashKey{}, User(4));
  EXPECT_THAT(forget([](const auto&, const auto&, const auto&) {
                return base::ResourceExhaustedError("the disk is full");
              }),
              StatusIs(StatusCode::kResourceExhausted, _));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, File("e")));  // as if nothing had been begun
  SUBMIX_ASSERT_OK(
      forget([&](const std::string& user, const std::string& from, const std::string& to) {
        EXPECT_EQ(user, mark);
        EXPECT_EQ(from, old_path);
        return base::WriteFile(to + "/records", "others'");
      }));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, ensemble::LoadManifest(File("e")));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(after, File("e")));
  EXPECT_EQ(after.generation, 2);
  EXPECT_EQ(after.contexts, manifest.contexts);
  const std::string new_path = ensemble::MemberPath(File("e"), after.members[PartOf(4)]);
  EXPECT_EQ(*base::ReadFile(new_path + "/records"), "others'");
  EXPECT_FALSE(base::FileExists(old_path));
  // Stopped before the manifest, and before the new member was in its place.
  const std::string pending = File("e/pending");
  for (const bool is_in_place : {true, false}) {
    SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, File("e")));
    SUBMIX_ASSERT_OK(base::MakeDirectories(pending));
    SUBMIX_ASSERT_OK(base::WriteFile(pending + "/user", mark));
    if (!is_in_place) {
      SUBMIX_ASSERT_OK(base::Rename(new_path, pending + "/g2"));
    }
    int calls = 0;
    SUBMIX_ASSERT_OK(forget([&](const auto&, const std::string& from, const std::string& to) {
      ++calls;
      EXPECT_FALSE(base::FileExists(from));
      EXPECT_EQ(*base::ReadFile(to + "/records"), "others'");
      return base::OkStatus();
    }));
    EXPECT_EQ(calls, is_in_place ? 0 : 1);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto ended, ensemble::LoadManifest(File("e")));
    EXPECT_EQ(ensemble::EnsembleFingerprint(ended), ensemble::EnsembleFingerprint(after));
  }
}

TEST_F(EnsembleTrainingTest, MembersThatReadAreNotCopied) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(File("e")));
  manifest.contexts = {16, ensemble::Retrieval::kNone, /*has_adapters=*/true};
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, File("e")));
  EnsembleTrainingOptions options = Options("f", "corpus.jsonl");
  options.reuse_directory = File("e");
  EXPECT_THAT(TrainEnsemble(options, kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("read contexts")));
}

TEST_F(EnsembleTrainingTest, ForgettingRefusesUnknownUsers) {
  SUBMIX_ASSERT_OK(TrainEnsemble(Options("e", "corpus.jsonl"), kSilent));
  EXPECT_THAT(ForgetUser(File("e"), File("corpus.jsonl"), "nobody", kSilent),
              StatusIs(StatusCode::kNotFound, _));
}

}  // namespace ensemble_training_test
}  // namespace submix::train
