#include "submix/external/external_predictor.h"

#include <memory>
#include <optional>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/testing/fake_predictor.h"
#include "submix/external/testing/logits_server.h"
#include "submix/model/half_float.h"

namespace submix::external {
namespace external_predictor_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ensemble::FakePredictor;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kMembers = 3, kVocabulary = 26;

class ExternalPredictorTest : public ::testing::Test {
 protected:
  ExternalPredictorTest() {
    options_.socket = directory_.File("logits.sock");
    options_.num_members = kMembers;
    options_.vocabulary = kVocabulary;
    options_.digest = std::string(64, 'd');
    server_options_.socket = options_.socket;
    server_options_.predictor = &computing_;
  }

  void Serve(Fault fault = Fault::kNone) {
    server_.reset();
    server_options_.fault = fault;
    server_.emplace(server_options_);
  }
  std::unique_ptr<ensemble::Predictor> Connect() {
    auto predictor = ConnectPredictor(options_);
    SUBMIX_EXPECT_OK(predictor);
    return *std::move(predictor);
  }
  static std::vector<float> RoomFor(std::size_t sequences) {
    return std::vector<float>(sequences * (1 + kMembers) * kVocabulary);
  }
  // One token of a new sequence.
  static base::Status TryStep(ensemble::Predictor& predictor) {
    const std::vector<TokenId> tokens = {7};
    const std::vector<ensemble::Predictor::Append> appends = {{predictor.Open(), tokens}};
    auto logits = RoomFor(1);
    return predictor.Step(appends, logits);
  }

  base::TemporaryDirectory directory_;
  FakePredictor computing_{kMembers, kVocabulary, 0.5};
  FakePredictor same_{kMembers, kVocabulary, 0.5};
  ExternalPredictorOptions options_;
  LogitsServer::Options server_options_;
  std::optional<LogitsServer> server_;
};

TEST_F(ExternalPredictorTest, NumbersArriveAsTheyWereComputed) {
  for (const bool is_float16 : {false, true}) {
    server_options_.is_float16 = is_float16;
    Serve();
    const auto predictor = Connect();
    EXPECT_EQ(predictor->num_members(), kMembers);
    EXPECT_EQ(predictor->vocab_size(), kVocabulary);
    EXPECT_EQ(predictor->context_length(), 64);
    const std::vector<TokenId> a = {1, 2, 3}, b = {9};
    auto found = RoomFor(2), expected = RoomFor(2);
    const std::vector<ensemble::Predictor::Append> appends = {
        {predictor->Open(), a}, {predictor->Open(), a, false}, {predictor->Open(), b}};
    SUBMIX_ASSERT_OK(predictor->Step(appends, found));
    const std::vector<ensemble::Predictor::Append> same = {
        {same_.Open(), a}, {same_.Open(), a, false}, {same_.Open(), b}};
    SUBMIX_ASSERT_OK(same_.Step(same, expected));
    if (is_float16) {
      for (float& number : expected) {
        number = model::FloatFromHalf(model::HalfFromFloat(number));
      }
    }
    EXPECT_EQ(found, expected);
  }
}

TEST_F(ExternalPredictorTest, ClosedSequencesAreClosedThere) {
  Serve();
  const auto predictor = Connect();
  const std::vector<TokenId> tokens = {1};
  const auto first = predictor->Open(), second = predictor->Open();
  auto logits = RoomFor(2);
  const std::vector<ensemble::Predictor::Append> both = {{first, tokens}, {second, tokens}};
  SUBMIX_ASSERT_OK(predictor->Step(both, logits));
  EXPECT_EQ(server_->open_sequences(), 2u);
  predictor->Close(first);
  const std::vector<ensemble::Predictor::Append> one = {{second, tokens}};
  auto rest = RoomFor(1);
  SUBMIX_ASSERT_OK(predictor->Step(one, rest));
  EXPECT_EQ(server_->open_sequences(), 1u);
  EXPECT_THAT(predictor->Step(both, logits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("unknown sequence")));
}

TEST_F(ExternalPredictorTest, NobodyThereIsSaidInALine) {
  EXPECT_THAT(
      ConnectPredictor(options_),
      StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr(options_.socket), HasSubstr("start it"))));
  options_.socket = "/" + std::string(200, 'x');
  EXPECT_THAT(ConnectPredictor(options_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("shorter")));
}

TEST_F(ExternalPredictorTest, AnotherEnsembleIsRefused) {
  Serve();
  const auto is_refused = [](const std::string& what) {
    return StatusIs(StatusCode::kFailedPrecondition, HasSubstr(what));
  };
  ExternalPredictorOptions right = options_;
  options_.digest = std::string(64, 'e');
  EXPECT_THAT(ConnectPredictor(options_), is_refused("the ensemble \"dddd"));
  options_ = right;
  options_.num_members = 4;
  EXPECT_THAT(ConnectPredictor(options_), is_refused("4 rows of logits, expected 5"));
  options_ = right;
  options_.vocabulary = 27;
  EXPECT_THAT(ConnectPredictor(options_), is_refused("logits of 26 tokens, expected 27"));
  options_ = right;
  options_.tokenizer = "tt";
  SUBMIX_EXPECT_OK(ConnectPredictor(options_));  // which does not say
  server_options_.hello =
      R"({"protocol": 2, "rows": 4, "vocabulary": 26, "context": 64, "type": "float32", "digest": ")" +
      right.digest + R"(", "tokenizer": "other"})";
  Serve();
  EXPECT_THAT(ConnectPredictor(options_), is_refused("tokenizer \"other\""));
  server_options_.hello = std::string(5000, ' ');
  Serve();
  EXPECT_THAT(ConnectPredictor(options_), is_refused("does not speak"));
}

// After each fault: an error in time, no sequence left, nothing computed until Recover, and then
// all is well.
TEST_F(ExternalPredictorTest, WhoeverBreaksTheProtocolIsLeft) {
  options_.patience = std::chrono::milliseconds(300);
  const std::vector<std::pair<Fault, std::string>> faults = {
      {Fault::kHangUp, "closed the connection"},
      {Fault::kHangUpWithinTheAnswer, "closed the connection"},
      {Fault::kWrongLength, "expected 424"},
      {Fault::kSilence, "in time"}};
  for (const auto& [fault, what] : faults) {
    Serve(fault);
    const auto predictor = Connect();
    const auto before = predictor->Open();
    EXPECT_THAT(TryStep(*predictor), StatusIs(StatusCode::kUnavailable,
                                              AllOf(HasSubstr(options_.socket), HasSubstr(what))));
    const std::vector<TokenId> tokens = {1};
    const std::vector<ensemble::Predictor::Append> appends = {{before, tokens}};
    auto logits = RoomFor(1);
    EXPECT_THAT(predictor->Step(appends, logits),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("unknown sequence")));
    EXPECT_THAT(TryStep(*predictor), StatusIs(StatusCode::kUnavailable, HasSubstr("away")));
    predictor->Close(before);
    server_.reset();
    EXPECT_THAT(predictor->Recover(), StatusIs(StatusCode::kUnavailable, HasSubstr("start it")));
    Serve();
    SUBMIX_ASSERT_OK(predictor->Recover());
    SUBMIX_EXPECT_OK(TryStep(*predictor));
  }
}

TEST_F(ExternalPredictorTest, RecoverNoticesWhoHasGoneBetweenSteps) {
  Serve();
  const auto predictor = Connect();
  SUBMIX_ASSERT_OK(TryStep(*predictor));
  SUBMIX_EXPECT_OK(predictor->Recover());
  Serve();  // another process
  SUBMIX_ASSERT_OK(predictor->Recover());
  SUBMIX_EXPECT_OK(TryStep(*predictor));
  server_.reset();
  EXPECT_THAT(predictor->Recover(), StatusIs(StatusCode::kUnavailable, HasSubstr("start it")));
}

TEST_F(ExternalPredictorTest, BytesThatNobodyAskedForAreNoAnswer) {
  Serve(Fault::kUnasked);
  const auto predictor = Connect();
  SUBMIX_ASSERT_OK(TryStep(*predictor));
  EXPECT_THAT(TryStep(*predictor),
              StatusIs(StatusCode::kUnavailable, HasSubstr("before it was asked")));
  SUBMIX_ASSERT_OK(predictor->Recover());
  SUBMIX_ASSERT_OK(TryStep(*predictor));
  SUBMIX_ASSERT_OK(predictor->Recover());  // before they do harm
  SUBMIX_EXPECT_OK(TryStep(*predictor));
}

// Of as many bytes as the right one: another client's logits.
TEST_F(ExternalPredictorTest, AnEarlierStepsAnswerIsNoAnswer) {
  Serve(Fault::kAnswersAStepLate);
  const auto predictor = Connect();
  SUBMIX_ASSERT_OK(TryStep(*predictor));
  EXPECT_THAT(TryStep(*predictor),
              StatusIs(StatusCode::kUnavailable, HasSubstr("the number of the step")));
  EXPECT_THAT(TryStep(*predictor), StatusIs(StatusCode::kUnavailable, HasSubstr("away")));
}

TEST_F(ExternalPredictorTest, AnotherContextNeedsANewStart) {
  Serve();
  const auto predictor = Connect();
  server_options_.hello =
      R"({"protocol": 2, "rows": 4, "vocabulary": 26, "context": 32, "type": "float32", "digest": ")" +
      options_.digest + R"("})";
  Serve();
  EXPECT_THAT(predictor->Recover(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("context of 32")));
}

}  // namespace external_predictor_test
}  // namespace submix::external
