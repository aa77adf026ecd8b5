// Threads that share the work of one token: the same charges and the same integers, bit for bit.
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace divided_work_test {

constexpr int kParts = 16;
constexpr std::size_t kVocabulary = 33'000;  // times 16 is worth dividing
constexpr int kThreads = 3;

using Answers = std::vector<double>;  // charges of all parts, then the probability of every token

class DividedWorkTest : public testing::Test {
 protected:
  DividedWorkTest() {
    const auto random = base::MakeSeededRandomSource(1);
    logits_.resize((1 + kParts) * kVocabulary);
    for (float& logit : logits_) logit = 6 * static_cast<float>(NextUnit(*random));
    logits_[5 * kVocabulary] = std::numeric_limits<float>::quiet_NaN();  // a part is null
    options_.num_parts = kParts;
    options_.target_leakage = .01;
  }

  Answers Ask(const Mechanism& mechanism, const base::ForEach& for_each) {
    const std::span<const float> all(logits_);
    SUBMIX_EXPECT_OK(mapped_.Map(all.first(kVocabulary), all.subspan(kVocabulary), 1, sampling_,
                                 mechanism.log_ratio_range(), for_each));
    const std::vector<accounting::FixedNats> remaining(kParts, accounting::FixedNats::RoundDown(1));
    auto proposal = *mechanism.Propose(mapped_.view(for_each), remaining, {});
    Answers answers;
    for (const auto charge : proposal->charges()) answers.push_back(charge.ToNatsRoundedUp());
    std::vector<bool> paid(kParts, true);
    paid[3] = false;
    NoRandomness no_randomness;
    const PrivateMixture mixture = std::move(*proposal).Mix(paid, no_randomness);
    for (std::size_t x = 0; x < mapped_.view().support_size(); ++x) {
      answers.push_back(OperatorView::Probability(mixture, x));
    }
    return answers;
  }

  std::vector<std::unique_ptr<Mechanism>> Mechanisms() const {
    std::vector<std::unique_ptr<Mechanism>> mechanisms;
    mechanisms.push_back(*DClip::Create(options_));
    mechanisms.push_back(*FilteredDClip::Create(options_));
    mechanisms.push_back(*FilteredSubmix::Create(options_));
    return mechanisms;
  }

  // Whoever is free takes the next piece.
  const base::ForEach by_threads_ = [this](int count, const std::function<void(int)>& body) {
    ++divisions_;
    std::atomic<int> next = 0;
    const auto work = [&] {
      for (int i = next++; i < count; i = next++) body(i);
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  };

  std::vector<float> logits_;
  MechanismOptions options_;
  SamplingOptions sampling_;
  MappedPredictions mapped_;
  int divisions_ = 0;
};

TEST_F(DividedWorkTest, GivesTheSameChargesAndIntegers) {
  for (const double top_p : {1., .99}) {
    sampling_.top_p = top_p;
    for (const auto& mechanism : Mechanisms()) {
      SCOPED_TRACE(std::string(mechanism->name()));
      const Answers in_turn = Ask(*mechanism, base::kInTurn);
      const int before = divisions_;
      EXPECT_EQ(Ask(*mechanism, by_threads_), in_turn);
      EXPECT_GE(divisions_, before + (top_p == 1 ? 2 : 0));  // the maps, then charges or mixture
    }
  }
}

TEST_F(DividedWorkTest, LittleWorkWakesNobody) {
  sampling_.top_k = 100;
  for (const auto& mechanism : Mechanisms()) {
    EXPECT_EQ(Ask(*mechanism, by_threads_), Ask(*mechanism, base::kInTurn));
  }
  EXPECT_EQ(divisions_, 0);
}

}  // namespace divided_work_test
}  // namespace submix::mechanism
