#include "submix/workbench/synthesis/synthesis_run.h"

#include <map>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/testing/fake_predictor.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/workbench/declaration.h"

namespace submix::workbench {
namespace synthesis_run_test {

using base::StatusCode;
using base::StatusIs;
using base::StatusOr;
using ::testing::HasSubstr;

constexpr int kParts = 4;

// A token a letter, and one that ends a document.
class LetterTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return 27; }
  std::size_t longest_token_bytes() const override { return 1; }
  base::TokenId end_of_text() const override { return 26; }
  StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const override {
    std::vector<base::TokenId> tokens;
    for (const char byte : bytes) tokens.push_back((byte - 'a' + 104) % 26);
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    std::string text;
    for (const base::TokenId token : tokens) {
      if (token < 26) text += static_cast<char>('a' + token);
    }
    return text;
  }
};

// Deployments as they are on disk, with models that are none.
class SynthesisRunTest : public ::testing::Test {
 protected:
  std::string Deploy(const std::string& name, const std::string& mechanism, std::int64_t tokens,
                     double epsilon = 2) {
    ensemble::WriteEnsemble(directory_.File(name + "_ensemble"), kParts, /*adapter=*/name);
    Declaration declaration;
    declaration.ensemble_directory = directory_.File(name + "_ensemble");
    declaration.deployment_directory = directory_.File(name);
    declaration.tokens = tokens;
    declaration.options.mechanism.name = mechanism;
    declaration.options.epsilon = epsilon;
    SUBMIX_EXPECT_OK(Declare(declaration));
    return declaration.deployment_directory;
  }

  SynthesisOrder Order(std::vector<std::string> deployments, std::int64_t documents) const {
    SynthesisOrder order = {.deployments = std::move(deployments),
                            .out = directory_.File("out.jsonl"),
                            .prompts = {{"ab", "first"}, {"c", ""}},
                            .documents = documents,
                            .at_a_time = 1};  // a record of the ledger is a step
    order.request.max_tokens = 4;
    return order;
  }

  static StatusOr<engine::Deployment> Look(const std::string& directory) {
    return engine::OpenDeployment(directory, engine::DeploymentAccess::kReadOnly);
  }

  static StatusOr<std::unique_ptr<DeployedEngine>> Ask(const std::string& directory) {
    auto deployed = std::make_unique<DeployedEngine>();
    SUBMIX_ASSIGN_OR_RETURN(deployed->deployment,
                            engine::OpenDeployment(directory, engine::DeploymentAccess::kCharge));
    deployed->tokenizer = std::make_unique<LetterTokenizer>();
    deployed->predictor = std::make_unique<ensemble::FakePredictor>(kParts, 27, /*spread=*/0.1);
    deployed->random = base::MakeSeededRandomSource(1);
    SUBMIX_ASSIGN_OR_RETURN(
        deployed->core,
        engine::EngineCore::Create({deployed->predictor.get(), deployed->deployment.mechanism.get(),
                                    deployed->deployment.ledger.get(), deployed->tokenizer.get(),
                                    deployed->random.get(),
                                    deployed->deployment.config.options.when_exhausted,
                                    /*end_tokens=*/{}, /*prefix_tokens_per_key=*/0}));
    return deployed;
  }

  static StatusOr<SynthesisResult> Run(const SynthesisOrder& order) {
    return RunSynthesis(order, {Look, Ask});
  }

  // Every document of the file, by its number.
  std::map<std::int64_t, nlohmann::json> Documents() const {
    std::map<std::int64_t, nlohmann::json> documents;
    std::istringstream lines(*base::ReadFile(directory_.File("out.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const auto document = nlohmann::json::parse(line);
      documents[std::stoll(document["id"].get<std::string>())] = document;
    }
    return documents;
  }

  // Tokens that were charged to the deployment.
  static std::int64_t Charged(const std::string& deployment) {
    return Look(deployment)->ledger->head()->records - 1;
  }

  base::TemporaryDirectory directory_;
};

TEST_F(SynthesisRunTest, PromptsTakeTurnsAndEveryTokenIsCharged) {
  const std::string deployment = Deploy("d", "filtered-submix", 1000);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SynthesisResult result, Run(Order({deployment}, 5)));
  const auto documents = Documents();
  ASSERT_EQ(documents.size(), 5);
  std::int64_t tokens = 0;
  for (const auto& [number, document] : documents) {
    EXPECT_EQ(document["prompt"], number % 2 == 0 ? "ab" : "c");
    EXPECT_EQ(document.contains("label"), number % 2 == 0);
    tokens += document["tokens"].get<std::int64_t>();
  }
  EXPECT_EQ(result.documents, 5);
  EXPECT_EQ(result.written_now, 5);
  EXPECT_EQ(result.tokens, tokens);
  EXPECT_EQ(result.drawn_now, tokens);
  EXPECT_EQ(Charged(deployment), tokens);
  EXPECT_TRUE(base::FileExists(directory_.File("out.jsonl.statement.json")));
}

TEST_F(SynthesisRunTest, WhatIsWrittenIsNotWrittenAgain) {
  const std::string deployment = Deploy("d", "filtered-submix", 1000);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SynthesisResult first, Run(Order({deployment}, 3)));
  const auto written = Documents();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SynthesisResult more, Run(Order({deployment}, 7)));
  EXPECT_EQ(more.written_now, 4);
  EXPECT_EQ(more.documents, 7);
  EXPECT_EQ(Charged(deployment), first.drawn_now + more.drawn_now);
  const auto all = Documents();
  for (const auto& [number, document] : written) EXPECT_EQ(all.at(number), document);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SynthesisResult none, Run(Order({deployment}, 7)));
  EXPECT_EQ(none.drawn_now, 0);
}

TEST_F(SynthesisRunTest, ABudgetThatMayEndOnTheWayIsRefusedBeforeTheFirstToken) {
  const std::string deployment = Deploy("d", "filtered-submix", 23);
  EXPECT_THAT(Run(Order({deployment}, 6)), StatusIs(StatusCode::kFailedPrecondition,
                                                    AllOf(HasSubstr("covers 23 tokens"),
                                                          HasSubstr("--documents 5 is the most"))));
  EXPECT_FALSE(base::FileExists(directory_.File("out.jsonl")));
  EXPECT_EQ(Charged(deployment), 0);
  SUBMIX_ASSERT_OK(Run(Order({deployment}, 5)));
  // What parts have left is private: the same documents are still covered, others not.
  SUBMIX_ASSERT_OK(Run(Order({deployment}, 5)));
  EXPECT_THAT(Run(Order({deployment}, 6)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("covers 23 tokens")));
}

TEST_F(SynthesisRunTest, OfAConstantChargeItCountsWhatIsLeft) {
  const std::string deployment = Deploy("d", "dclip", 20);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SynthesisResult first, Run(Order({deployment}, 3)));
  const std::int64_t left = 20 - first.drawn_now;
  EXPECT_THAT(Run(Order({deployment}, 3 + left / 4 + 1)),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("covers " + std::to_string(left) + " more tokens"),
                             HasSubstr("--documents " + std::to_string(3 + left / 4) + " is"))));
  SUBMIX_EXPECT_OK(Run(Order({deployment}, 3 + left / 4)));
  SynthesisOrder longer = Order({deployment}, 1);
  longer.out = directory_.File("longer.jsonl");
  longer.request.max_tokens = 40;
  EXPECT_THAT(Run(longer), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not one fits")));
}

TEST_F(SynthesisRunTest, BatchesTakeTurnsAndEachRoundBeginsWithTheNext) {
  const std::vector<std::string> batches = {Deploy("batch-1-of-2", "filtered-submix", 100),
                                            Deploy("batch-2-of-2", "filtered-submix", 100)};
  SUBMIX_ASSERT_OK(Run(Order(batches, 6)));
  std::vector<std::int64_t> tokens(2);
  for (const auto& [number, document] : Documents()) {
    const bool is_second = number == 1 || number == 2 || number == 5;
    tokens[is_second ? 1 : 0] += document["tokens"].get<std::int64_t>();
  }
  EXPECT_EQ(Charged(batches[0]), tokens[0]);
  EXPECT_EQ(Charged(batches[1]), tokens[1]);
}

TEST_F(SynthesisRunTest, BatchesThatPromiseDifferentlyShareNoFile) {
  const std::string first = Deploy("first", "filtered-submix", 100);
  const std::string other = Deploy("other", "filtered-submix", 100, /*epsilon=*/1);
  EXPECT_THAT(Run(Order({first, other}, 2)),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr(other + ": promises something else than " + first)));
}

TEST_F(SynthesisRunTest, APromptThatCannotBeAskedIsNamedByItsNumber) {
  SynthesisOrder order = Order({Deploy("d", "filtered-submix", 100)}, 2);
  order.prompts[1].text = std::string(80, 'a');  // longer than the context
  EXPECT_THAT(Run(order), StatusIs(StatusCode::kInvalidArgument, HasSubstr("(prompt 2)")));
  order.documents = 1;
  SUBMIX_EXPECT_OK(Run(order)) << "nobody asks it";
}

TEST_F(SynthesisRunTest, DocumentsOfAnotherRunAreLeftAlone) {
  SynthesisOrder order = Order({Deploy("d", "filtered-submix", 100)}, 2);
  SUBMIX_ASSERT_OK(Run(order));
  order.request.max_tokens = 5;
  EXPECT_THAT(Run(order),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("(other max_tokens)")));
}

TEST_F(SynthesisRunTest, ALabelIsOneTokenHoweverLongItsName) {
  const std::string deployment = Deploy("d", "dclip", 8);
  SynthesisOrder order = Order({deployment}, 6);
  order.labels = {"xylophone", "xylem", "xyz"};  // of which "xyl" and "xyz" say which it is not
  EXPECT_THAT(Run(order), StatusIs(StatusCode::kInvalidArgument, HasSubstr("same token")));
  order.labels = {"positive", "negative", "mixed"};
  order.prompts = {{"ab", "mixed"}, {"c", ""}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SynthesisResult result, Run(order));
  EXPECT_EQ(result.tokens, 6);
  EXPECT_EQ(Charged(deployment), 6);
  const auto documents = Documents();
  ASSERT_EQ(documents.size(), 6);
  for (const auto& [number, document] : documents) {
    EXPECT_EQ(std::ranges::count(order.labels, document["label"].get<std::string>()), 1);
    EXPECT_EQ(document["prompt"], number % 2 == 0 ? "ab" : "c");
    EXPECT_EQ(document.value("completion", ""), number % 2 == 0 ? "mixed" : "");
    EXPECT_EQ(document["tokens"], 1);
  }
  order.documents = 9;
  EXPECT_THAT(Run(order), StatusIs(StatusCode::kFailedPrecondition,
                                   HasSubstr("covers 2 more answers, and there are 3 items")));
  order.labels.pop_back();
  EXPECT_THAT(Run(order), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other labels")));
}

TEST_F(SynthesisRunTest, SomethingSaysHowManyDocuments) {
  SynthesisOrder order;
  EXPECT_THAT(SetPrompts("", "", {}, std::nullopt, order),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("say how many")));
  SUBMIX_ASSERT_OK(SetPrompts("", "", {}, 3, order));
  EXPECT_EQ(order.documents, 3);
  EXPECT_EQ(order.prompts.size(), 1);
  SUBMIX_ASSERT_OK(SetPrompts("", "{label}", {"a:4"}, std::nullopt, order));
  EXPECT_EQ(order.documents, 4);
}

}  // namespace synthesis_run_test
}  // namespace submix::workbench
