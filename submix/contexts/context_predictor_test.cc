#include "submix/contexts/context_predictor.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/model/testing/tiny_model.h"

namespace submix::contexts {
namespace context_predictor_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using decode::CpuPredictor;
using ensemble::Predictor;
using ensemble::Retrieval;
using ensemble::SequenceId;
using ::testing::HasSubstr;
using Logits = std::vector<float>;

constexpr int kContext = 16;
constexpr TokenId kEnd = 0;
const RecordFrame kBoundaries = {kEnd, {kEnd}, {}, {kEnd}};
constexpr Retrieval kRetrievals[] = {Retrieval::kNone, Retrieval::kBm25};

// What a step asks of the model: how many tokens, behind how many others, of which row.
struct Asked {
  std::size_t tokens = 0;
  int behind = 0;
  int row = 0;
  bool operator==(const Asked&) const = default;
};
using Work = std::vector<Asked>;

// A model that says what is asked of it.
class WatchedModel final : public CpuPredictor {
 public:
  WatchedModel(std::unique_ptr<CpuPredictor> model, Work& work)
      : model_(std::move(model)), work_(work) {}
  int num_members() const override { return model_->num_members(); }
  int vocab_size() const override { return model_->vocab_size(); }
  int context_length() const override { return model_->context_length(); }
  SequenceId Open() override { return model_->Open(); }
  int num_separate_rows() const override { return model_->num_separate_rows(); }
  SequenceId OpenHidden(int hidden, int row) override {
    const SequenceId opened = model_->OpenHidden(hidden, row);
    rows_[opened] = row;
    return opened;
  }
  void Close(SequenceId sequence) override {
    lengths_.erase(sequence);
    model_->Close(sequence);
  }
  int prefix_granule() const override { return model_->prefix_granule(); }
  SequenceId OpenPrefix(SequenceId other, int tokens) override {
    const SequenceId opened = model_->OpenPrefix(other, tokens);
    lengths_[opened] = tokens;
    rows_[opened] = rows_[other];
    return opened;
  }
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    for (const Append& append : appends) {
      int& length = lengths_[append.sequence];
      work_.push_back({append.tokens.size(), length, rows_[append.sequence]});
      length += static_cast<int>(append.tokens.size());
    }
    return model_->Step(appends, logits);
  }
  base::Status Score(std::span<const TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    return model_->Score(tokens, first, sink);
  }
  base::Status ScoreRow(int row, std::span<const TokenId> tokens, std::size_t first,
                        const PositionSink& sink) override {
    return model_->ScoreRow(row, tokens, first, sink);
  }
  decode::CpuPredictorMemory memory() const override { return model_->memory(); }

 private:
  const std::unique_ptr<CpuPredictor> model_;
  Work& work_;
  std::map<SequenceId, int> lengths_, rows_;
};

class ContextPredictorTest : public ::testing::Test {
 protected:
  ContextPredictorTest() {
    config_ = model::TinyConfig();
    config_.context_length = 64;
    model::WriteTinyModel(directory_.File("public"), config_, 1);
  }

  // An adapter, whose seed is 0 if it adds nothing.
  std::string Adapter(std::uint64_t seed) const {
    const std::string path = directory_.File("adapter" + std::to_string(seed));
    model::LoraConfig config;
    config.rank = 4;
    config.lora_alpha = seed > 0 ? 8 : 0;
    config.layers = {1};
    model::WriteTinyAdapter(path, config_, config, seed);
    return path;
  }

  std::unique_ptr<CpuPredictor> LoadModel(decode::Precision precision = decode::Precision::kFloat32,
                                          const std::vector<std::uint64_t>& adapters = {},
                                          bool has_separate_rows = true) const {
    decode::CpuPredictorOptions options;
    options.public_directory = directory_.File("public");
    options.precision = precision;
    options.threads = 2;
    options.has_separate_rows = has_separate_rows;
    for (const std::uint64_t seed : adapters) options.member_directories.push_back(Adapter(seed));
    auto model = CpuPredictor::Load(options);
    SUBMIX_EXPECT_OK(model);
    return *std::move(model);
  }

  static MemberContexts Contexts(std::vector<std::vector<Tokens>> records, Retrieval retrieval) {
    return MemberContexts({kContext, retrieval}, kBoundaries, std::move(records));
  }

  std::unique_ptr<Predictor> Make(std::vector<std::vector<Tokens>> records, Retrieval retrieval,
                                  decode::Precision precision = decode::Precision::kFloat32) const {
    auto predictor =
        MakeContextPredictor(LoadModel(precision), Contexts(std::move(records), retrieval));
    SUBMIX_EXPECT_OK(predictor);
    return *std::move(predictor);
  }

  // Seed 0: an adapter that adds nothing.
  std::unique_ptr<Predictor> MakeWithAdapters(
      const std::vector<std::uint64_t>& adapters, std::vector<std::vector<Tokens>> records,
      Retrieval retrieval, decode::Precision precision = decode::Precision::kFloat32) const {
    std::vector<bool> is_trained;
    for (const std::uint64_t seed : adapters) is_trained.push_back(seed > 0);
    auto predictor = MakeContextPredictor(LoadModel(precision, adapters),
                                          Contexts(std::move(records), retrieval), is_trained);
    SUBMIX_EXPECT_OK(predictor);
    return *std::move(predictor);
  }

  static Logits Step(Predictor& predictor, const std::vector<Predictor::Append>& appends) {
    Logits logits(ensemble::CountPredicting(appends) *
                  static_cast<std::size_t>(predictor.num_members() + 1) *
                  static_cast<std::size_t>(predictor.vocab_size()));
    SUBMIX_EXPECT_OK(predictor.Step(appends, logits));
    return logits;
  }

  Logits Row(const Logits& logits, std::size_t row) const {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row) * config_.vocab_size;
    return {begin, begin + config_.vocab_size};
  }

  Tokens Random(std::size_t count, std::uint64_t seed) const {
    return model::RandomTokens(count, config_.vocab_size, seed);
  }

  static void ExpectNear(const Logits& found, const Logits& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-5);
  }

  base::TemporaryDirectory directory_;
  model::DecoderConfig config_;
};

// Of a part with more than fits, one with less, and one without; over two steps.
TEST_F(ContextPredictorTest, AMemberIsThePublicModelThatHasReadItsRecords) {
  const std::vector<std::vector<Tokens>> records = {
      {Random(9, 1), Random(11, 2)}, {Random(5, 3)}, {}};
  const auto model = LoadModel();
  const Tokens query = Random(7, 4), next = {5};
  for (const Retrieval retrieval : kRetrievals) {
    const auto predictor = Make(records, retrieval);
    EXPECT_EQ(predictor->num_members(), 3);
    EXPECT_EQ(predictor->context_length(), 48);
    const MemberContexts contexts = Contexts(records, retrieval);
    const SequenceId sequence = predictor->Open();
    const Logits first = Step(*predictor, {{sequence, query}});
    const Logits second = Step(*predictor, {{sequence, next}});
    for (int row = 0; row <= 3; ++row) {
      Tokens text = row == 0 ? Tokens() : contexts.Of(row - 1, query);
      text.insert(text.end(), query.begin(), query.end());
      const SequenceId plain = model->Open();
      const auto at = static_cast<std::size_t>(row);
      ExpectNear(Row(first, at), Step(*model, {{plain, text}}));
      ExpectNear(Row(second, at), Step(*model, {{plain, next}}));
    }
    EXPECT_NE(Row(first, 1), Row(first, 0));
    EXPECT_NE(Row(first, 2), Row(first, 0));
  }
}

TEST_F(ContextPredictorTest, AMemberWithoutRecordsIsThePublicRowBitForBit) {
  for (const decode::Precision precision :
       {decode::Precision::kFloat32, decode::Precision::kBfloat16}) {
    for (const Retrieval retrieval : kRetrievals) {
      const auto predictor = Make({{Random(9, 1)}, {}, {Random(4, 2)}}, retrieval, precision);
      const SequenceId a = predictor->Open(), b = predictor->Open();
      const Logits logits = Step(*predictor, {{a, Random(7, 4)}, {b, Random(20, 5)}});
      EXPECT_EQ(Row(logits, 2), Row(logits, 0));
      EXPECT_EQ(Row(logits, 6), Row(logits, 4));
      EXPECT_NE(Row(logits, 7), Row(logits, 4));
    }
  }
}

// Of a trained part with records, one without, and one that is neither; in steps and in scores.
TEST_F(ContextPredictorTest, AnAdapterReadsItsRecords) {
  const std::vector<std::vector<Tokens>> records = {{Random(9, 1), Random(11, 2)}, {}, {}};
  const auto model = LoadModel(decode::Precision::kFloat32, {1, 2, 0}, false);
  const Tokens document = Random(12, 4);
  constexpr std::size_t kFirst = 7;
  const auto query = std::span(document).first(kFirst),
             next = std::span(document).subspan(kFirst, 1);
  for (const Retrieval retrieval : kRetrievals) {
    const auto predictor = MakeWithAdapters({1, 2, 0}, records, retrieval);
    const MemberContexts contexts = Contexts(records, retrieval);
    const SequenceId sequence = predictor->Open();
    const Logits first = Step(*predictor, {{sequence, query}});
    const Logits second = Step(*predictor, {{sequence, next}});
    std::vector<Logits> scored;
    SUBMIX_ASSERT_OK(
        predictor->Score(document, kFirst, [&](std::size_t, std::span<const float> logits) {
          scored.emplace_back(logits.begin(), logits.end());
          return base::OkStatus();
        }));
    for (std::size_t row = 0; row <= 3; ++row) {
      Tokens text = row == 0 ? Tokens() : contexts.Of(static_cast<int>(row) - 1, query);
      text.insert(text.end(), query.begin(), query.end());
      const SequenceId plain = model->Open();
      const Logits expected = Row(Step(*model, {{plain, text}}), row);
      ExpectNear(Row(first, row), expected);
      ExpectNear(Row(scored[0], row), expected);
      ExpectNear(Row(second, row), Row(Step(*model, {{plain, next}}), row));
    }
    EXPECT_NE(Row(first, 2), Row(first, 0));  // knows what it was trained on
  }
}

TEST_F(ContextPredictorTest, OnlyWhoNeitherReadNorWasTrainedIsThePublicRow) {
  for (const decode::Precision precision :
       {decode::Precision::kFloat32, decode::Precision::kBfloat16}) {
    for (const Retrieval retrieval : kRetrievals) {
      const auto predictor =
          MakeWithAdapters({0, 1, 0}, {{Random(9, 1)}, {}, {}}, retrieval, precision);
      const Logits logits = Step(*predictor, {{predictor->Open(), Random(7, 4)}});
      EXPECT_NE(Row(logits, 1), Row(logits, 0));
      EXPECT_NE(Row(logits, 2), Row(logits, 0));
      EXPECT_EQ(Row(logits, 3), Row(logits, 0));
    }
  }
}

// Contract 6, to the bit: other members' records, other sequences' texts.
TEST_F(ContextPredictorTest, ARowKnowsNothingOfOtherRows) {
  const std::vector<Tokens> mine = {Random(9, 1), Random(12, 2)};
  const Tokens query = Random(7, 4);
  for (const Retrieval retrieval : kRetrievals) {
    const auto before = Make({{Random(8, 5)}, mine, {}}, retrieval);
    const auto after = Make({{}, mine, {Random(30, 6), Random(3, 7)}}, retrieval);
    const Logits a = Step(*before, {{before->Open(), Random(9, 8)}, {before->Open(), query}});
    const Logits b = Step(*after, {{after->Open(), Random(9, 9)}, {after->Open(), query}});
    EXPECT_EQ(Row(a, 4), Row(b, 4));
    EXPECT_EQ(Row(a, 6), Row(b, 6));
    EXPECT_NE(Row(a, 5), Row(b, 5));
    // Nor of other adapters.
    const auto some = MakeWithAdapters({1, 2, 3}, {{Random(8, 5)}, mine, {}}, retrieval);
    const auto other = MakeWithAdapters({0, 2, 4}, {{}, mine, {Random(30, 6)}}, retrieval);
    const Logits c = Step(*some, {{some->Open(), Random(9, 8)}, {some->Open(), query}});
    const Logits d = Step(*other, {{other->Open(), Random(9, 9)}, {other->Open(), query}});
    EXPECT_EQ(Row(c, 4), Row(d, 4));
    EXPECT_EQ(Row(c, 6), Row(d, 6));
    EXPECT_NE(Row(c, 6), Row(b, 6));
    EXPECT_NE(Row(c, 7), Row(d, 7));
  }
}

// The model is asked for the same tokens behind as many others, whatever the records are.
TEST_F(ContextPredictorTest, WorkIsAFunctionOfPublicThings) {
  for (const Retrieval retrieval : kRetrievals) {
    std::vector<Work> works;
    for (const std::vector<std::vector<Tokens>>& records :
         {std::vector<std::vector<Tokens>>{{Random(9, 1), Random(30, 2)}, {Random(9, 3)}},
          {{}, {Random(1, 3)}},
          {{}, {}},
          {std::vector<Tokens>(40, Random(9, 4)), {}}}) {
      Work& work = works.emplace_back();
      Work recorded;
      auto predictor = MakeContextPredictor(std::make_unique<WatchedModel>(LoadModel(), recorded),
                                            Contexts(records, retrieval));
      SUBMIX_ASSERT_OK(predictor);
      const SequenceId a = (*predictor)->Open();
      Step(**predictor, {{a, Random(16, 5), /*predicts=*/false}});
      Step(**predictor, {{a, Random(4, 6)}, {(*predictor)->Open(), Random(3, 7)}});
      Step(**predictor, {{a, Random(1, 8)}});
      work = recorded;
    }
    EXPECT_GE(works.front().size(), 9u);
    for (const Work& work : works) EXPECT_EQ(work, works.front());
  }
}

// Nor does it tell which adapters were trained; every member computes its own row.
TEST_F(ContextPredictorTest, WorkOfAdaptersIsAFunctionOfPublicThings) {
  for (const Retrieval retrieval : kRetrievals) {
    std::vector<Work> works(3);
    const std::vector<std::vector<Tokens>> records[] = {
        {{Random(9, 1), Random(30, 2)}, {Random(9, 3)}}, {{}, {Random(1, 3)}}, {{}, {}}};
    for (std::size_t i = 0; i < works.size(); ++i) {
      const bool is_trained = i < 2;
      auto predictor = MakeContextPredictor(
          std::make_unique<WatchedModel>(
              LoadModel(decode::Precision::kFloat32, {1, is_trained ? std::uint64_t{2} : 0}),
              works[i]),
          Contexts(records[i], retrieval), {true, is_trained});
      SUBMIX_ASSERT_OK(predictor);
      Step(**predictor, {{(*predictor)->Open(), Random(4, 6)}});
    }
    EXPECT_EQ(works[0].back().row, 2);
    EXPECT_EQ(works[1], works[0]);
    EXPECT_EQ(works[2], works[0]);
  }
}

TEST_F(ContextPredictorTest, PromptsInPiecesAndWithSharedBeginningsGiveTheSame) {
  const std::vector<std::vector<Tokens>> records = {{Random(9, 1), Random(11, 2)}, {}};
  const Tokens query = Random(30, 4);
  for (const Retrieval retrieval : kRetrievals) {
    const auto predictor = Make(records, retrieval);
    const Logits whole = Step(*predictor, {{predictor->Open(), query}});
    const SequenceId pieces = predictor->Open();
    Step(*predictor, {{pieces, std::span(query).first(16), /*predicts=*/false}});
    Step(*predictor, {{pieces, std::span(query).subspan(16, 9), /*predicts=*/false}});
    EXPECT_EQ(Step(*predictor, {{pieces, std::span(query).subspan(25)}}), whole);
    if (retrieval == Retrieval::kBm25) {
      EXPECT_EQ(predictor->prefix_granule(), 0);
      continue;
    }
    ASSERT_EQ(predictor->prefix_granule(), 16);
    const SequenceId shared = predictor->OpenPrefix(pieces, 16);
    predictor->Close(pieces);
    EXPECT_EQ(Step(*predictor, {{shared, std::span(query).subspan(16)}}), whole);
  }
}

TEST_F(ContextPredictorTest, ScoresAreWhatStepsGive) {
  const std::vector<std::vector<Tokens>> records = {{Random(9, 1), Random(11, 2)}, {}};
  const Tokens document = Random(12, 4);
  constexpr std::size_t kFirst = 5;
  for (const Retrieval retrieval : kRetrievals) {
    const auto predictor = Make(records, retrieval);
    const SequenceId sequence = predictor->Open();
    Logits expected = Step(*predictor, {{sequence, std::span(document).first(kFirst)}});
    std::size_t next = kFirst;
    SUBMIX_ASSERT_OK(predictor->Score(
        document, kFirst, [&](std::size_t position, std::span<const float> logits) {
          EXPECT_EQ(position, next++);
          ExpectNear({logits.begin(), logits.end()}, expected);
          expected = Step(*predictor, {{sequence, std::span(document).subspan(position, 1)}});
          return base::OkStatus();
        }));
    EXPECT_EQ(next, document.size());
  }
}

TEST_F(ContextPredictorTest, WhatDoesNotFitIsRefused) {
  const auto predictor = Make({{Random(9, 1)}}, Retrieval::kBm25);
  const SequenceId sequence = predictor->Open();
  Logits logits(2 * static_cast<std::size_t>(config_.vocab_size));
  const Tokens longest = Random(48, 2), longer = Random(49, 2);
  const auto step = [&](const Tokens& tokens) {
    return predictor->Step(std::vector{Predictor::Append{sequence, tokens}}, logits);
  };
  EXPECT_THAT(step(longer), StatusIs(StatusCode::kInvalidArgument, HasSubstr("context of 48")));
  SUBMIX_EXPECT_OK(step(longest));
  EXPECT_THAT(step({1}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("holds 48 tokens")));
  predictor->Close(sequence);
  EXPECT_THAT(step({1}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("unknown sequence")));
  EXPECT_THAT(
      MakeContextPredictor(LoadModel(), MemberContexts({64, Retrieval::kNone}, kBoundaries, {{}})),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("64 tokens")));
}

}  // namespace context_predictor_test
}  // namespace submix::contexts
