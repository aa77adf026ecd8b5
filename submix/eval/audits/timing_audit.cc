#include "submix/eval/audits/timing_audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include "submix/base/file_system.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/scheduler.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using Clock = std::chrono::steady_clock;
using Prompt = std::vector<base::TokenId>;
using base::Status;
using base::StatusOr;

// More than any audit spends.
constexpr double kPlentyNats = 4096;
constexpr int kUncounted = 8;  // measurements before the first pair

Status CheckPlan(const TimingAuditPlan& plan) {
  if (plan.pairs < 10) return base::InvalidArgumentError("timing audit: expected 10 pairs or more");
  if (plan.prompts.size() < 8) {
    return base::InvalidArgumentError("timing audit: expected 8 prompts or more");
  }
  for (const Prompt& prompt : plan.prompts) {
    if (prompt.empty() || prompt.size() != plan.prompts.front().size()) {
      return base::InvalidArgumentError("timing audit: expected prompts of one length");
    }
  }
  return base::OkStatus();
}

// A server without HTTP, on a ledger of its own.
class AuditedServer {
 public:
  // The members of `engine` must outlive it, but the ledger, which is made.
  static StatusOr<std::unique_ptr<AuditedServer>> Start(engine::EngineParts engine,
                                                        const TimingAuditPlan& plan,
                                                        const std::string& name,
                                                        bool parts_can_pay) {
    const ledger::DurableLedgerOptions where{base::JoinPath(plan.work_directory, name + ".sqlite"),
                                             base::JoinPath(plan.work_directory, name + ".anchor"),
                                             {}};
    const auto budget = accounting::FixedNats::RoundDown(kPlentyNats);
    std::vector<ledger::Account> accounts(
        static_cast<std::size_t>(plan.mechanism.num_parts),
        {"part", budget, parts_can_pay ? accounting::FixedNats() : budget});
    SUBMIX_RETURN_IF_ERROR(
        ledger::DurableLedger::Create(where, accounts, plan.mechanism.order.ToString()));
    auto server = std::make_unique<AuditedServer>();
    SUBMIX_ASSIGN_OR_RETURN(server->ledger_, ledger::DurableLedger::Open(where));
    engine.ledger = server->ledger_.get();
    SUBMIX_ASSIGN_OR_RETURN(auto core, engine::EngineCore::Create(engine));
    engine::SchedulerOptions options;
    options.quantum = plan.quantum;
    SUBMIX_ASSIGN_OR_RETURN(server->scheduler_, engine::Scheduler::Start(std::move(core), options));
    return server;
  }

  // Seconds from the request to its token.
  StatusOr<double> TimeToken(const Prompt& prompt) {
    engine::Submission submission;
    submission.request.prompt = prompt;
    submission.request.max_tokens = 1;
    const Clock::time_point start = Clock::now();
    SUBMIX_ASSIGN_OR_RETURN(const auto completion, scheduler_->Submit(std::move(submission)));
    const auto event = completion->Next(std::chrono::hours(1));
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (!event) return completion->status();
    return elapsed.count();
  }

 private:
  std::unique_ptr<ledger::DurableLedger> ledger_;
  std::unique_ptr<engine::Scheduler> scheduler_;  // last: it uses the ledger
};

// How far the parts are from the public model after a prompt: the mean total variation.
StatusOr<double> Disagreement(ensemble::Predictor& predictor, int num_parts, const Prompt& prompt) {
  const auto vocab = static_cast<std::size_t>(predictor.vocab_size());
  const auto members = static_cast<std::size_t>(predictor.num_members());
  std::vector<float> logits((members + 1) * vocab);
  const ensemble::Predictor::Append append{predictor.Open(), prompt};
  const Status status = predictor.Step(std::span(&append, 1), logits);
  predictor.Close(append.sequence);
  SUBMIX_RETURN_IF_ERROR(status);
  mechanism::MappedPredictions mapped;
  SUBMIX_RETURN_IF_ERROR(mapped.Map(std::span(logits).first(vocab),
                                    std::span(logits).subspan(vocab),
                                    predictor.num_members() / num_parts, {}));
  const mechanism::PartPredictions predictions = mapped.view();
  double distance = 0;
  for (std::size_t row = 0; row < members; ++row) {
    for (std::size_t x = 0; x < vocab; ++x) {
      distance +=
          std::abs(predictions.member_pmfs[row * vocab + x] - predictions.public_pmf[x]) / 2;
    }
  }
  return distance / static_cast<double>(members);
}

struct SortedPrompts {
  std::vector<Prompt> consensus;
  std::vector<Prompt> contested;
};

StatusOr<SortedPrompts> SortPrompts(ensemble::Predictor& predictor, const TimingAuditPlan& plan) {
  std::vector<std::pair<double, const Prompt*>> by_disagreement;
  for (const Prompt& prompt : plan.prompts) {
    SUBMIX_ASSIGN_OR_RETURN(const double disagreement,
                            Disagreement(predictor, plan.mechanism.num_parts, prompt));
    by_disagreement.emplace_back(disagreement, &prompt);
  }
  std::sort(by_disagreement.begin(), by_disagreement.end());
  SortedPrompts sorted;
  for (std::size_t i = 0; i < by_disagreement.size() / 4; ++i) {
    sorted.consensus.push_back(*by_disagreement[i].second);
    sorted.contested.push_back(*by_disagreement[by_disagreement.size() - 1 - i].second);
  }
  return sorted;
}

// Of the two situations that are compared.
using Samples = std::array<std::vector<double>, 2>;
struct TimedRequest {
  AuditedServer& server;
  const Prompt& prompt;
};
using RequestPair = std::array<TimedRequest, 2>;

// Both of a pair are measured in random order.
StatusOr<Samples> MeasurePairs(int pairs, const std::function<RequestPair()>& draw,
                               base::RandomSource& random, base::ProgressBar& progress) {
  Samples samples;
  for (int pair = -kUncounted / 2; pair < pairs; ++pair) {
    const RequestPair requests = draw();
    const std::size_t earlier = random.NextBelow(2);
    for (const std::size_t i : {earlier, 1 - earlier}) {
      SUBMIX_ASSIGN_OR_RETURN(const double seconds,
                              requests[i].server.TimeToken(requests[i].prompt));
      if (pair >= 0) samples[i].push_back(seconds);
    }
    if (pair >= 0) progress.Advance(1);
  }
  return samples;
}

double Quantile(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::vector<double> Together(const Samples& samples) {
  std::vector<double> all = samples[0];
  all.insert(all.end(), samples[1].begin(), samples[1].end());
  return all;
}

StatusOr<TimingComparison> Compare(const char* first, const char* second, const Samples& samples) {
  TimingComparison comparison;
  comparison.first = first;
  comparison.second = second;
  comparison.first_median = Quantile(samples[0], 0.5);
  comparison.second_median = Quantile(samples[1], 0.5);
  SUBMIX_ASSIGN_OR_RETURN(comparison.all, WelchTest(samples[0], samples[1]));
  const double bound = Quantile(Together(samples), 0.9);
  Samples fast = samples;
  for (auto& sample : fast) std::erase_if(sample, [&](double seconds) { return seconds > bound; });
  SUBMIX_ASSIGN_OR_RETURN(comparison.without_slowest, WelchTest(fast[0], fast[1]));
  return comparison;
}

}  // namespace

base::StatusOr<WelchResult> WelchTest(std::span<const double> first,
                                      std::span<const double> second) {
  using boost::math::statistics::mean_and_sample_variance;
  if (first.size() < 2 || second.size() < 2) {
    return base::InvalidArgumentError("Welch's test: expected at least 2 values in each sample");
  }
  const auto [first_mean, first_variance] = mean_and_sample_variance(first);
  const auto [second_mean, second_variance] = mean_and_sample_variance(second);
  const double of_first = first_variance / static_cast<double>(first.size());
  const double of_second = second_variance / static_cast<double>(second.size());
  if (!(of_first + of_second > 0)) {
    return base::InvalidArgumentError("Welch's test: expected values that are not all equal");
  }
  WelchResult result;
  result.difference = second_mean - first_mean;
  result.standard_error = std::sqrt(of_first + of_second);
  result.t = result.difference / result.standard_error;
  result.degrees_of_freedom = std::pow(of_first + of_second, 2) /
                              (of_first * of_first / static_cast<double>(first.size() - 1) +
                               of_second * of_second / static_cast<double>(second.size() - 1));
  const boost::math::students_t student(result.degrees_of_freedom);
  result.p_value = 2 * boost::math::cdf(student, -std::abs(result.t));
  result.detectable_difference =
      (boost::math::quantile(student, 0.975) + boost::math::quantile(student, 0.8)) *
      result.standard_error;
  return result;
}

StatusOr<TimingAuditResult> AuditTiming(ensemble::Predictor& predictor,
                                        const tokenizer::Tokenizer& tokenizer,
                                        const TimingAuditPlan& plan, base::RandomSource& random,
                                        base::ProgressBar& progress) {
  SUBMIX_RETURN_IF_ERROR(CheckPlan(plan));
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, mechanism::MakeAnyMechanism(plan.mechanism));
  SUBMIX_ASSIGN_OR_RETURN(const SortedPrompts sorted, SortPrompts(predictor, plan));
  // Of the servers: they draw beside what is drawn here.
  const auto tokens = base::MakeSystemRandomSource();
  const engine::EngineParts parts{&predictor, mechanism.get(), nullptr, &tokenizer, tokens.get()};
  SUBMIX_ASSIGN_OR_RETURN(const auto fresh, AuditedServer::Start(parts, plan, "fresh", true));
  SUBMIX_ASSIGN_OR_RETURN(const auto spent, AuditedServer::Start(parts, plan, "spent", false));

  const auto choose = [&](const std::vector<Prompt>& prompts) -> const Prompt& {
    return prompts[random.NextBelow(prompts.size())];
  };
  const auto of_budgets = [&]() -> RequestPair {
    const Prompt& prompt = choose(plan.prompts);
    return {{{*fresh, prompt}, {*spent, prompt}}};
  };
  const auto of_contexts = [&]() -> RequestPair {
    return {{{*fresh, choose(sorted.consensus)}, {*fresh, choose(sorted.contested)}}};
  };
  SUBMIX_ASSIGN_OR_RETURN(const Samples budgets,
                          MeasurePairs(plan.pairs, of_budgets, random, progress));
  SUBMIX_ASSIGN_OR_RETURN(const Samples contexts,
                          MeasurePairs(plan.pairs, of_contexts, random, progress));
  TimingAuditResult result;
  SUBMIX_ASSIGN_OR_RETURN(result.budgets, Compare("fresh parts", "exhausted parts", budgets));
  SUBMIX_ASSIGN_OR_RETURN(result.contexts, Compare("consensus", "contested", contexts));
  result.slowest_usual =
      std::max(Quantile(Together(budgets), 0.9), Quantile(Together(contexts), 0.9));
  return result;
}

}  // namespace submix::eval
