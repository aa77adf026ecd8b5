#include "submix/eval/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "submix/base/random.h"
#include "submix/divergence/pmf.h"
#include "submix/engine/sample.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/operator_view.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

// A mechanism answering one run's queries under a budget of its own.
class SimulatedDeployment {
 public:
  static StatusOr<SimulatedDeployment> Create(const EvaluationSetting& setting,
                                              const EvaluationPlan& plan) {
    mechanism::MechanismOptions options = setting.mechanism;
    options.num_parts = plan.num_parts;
    if (!(options.target_leakage > 0)) {
      options.target_leakage = setting.epsilon / static_cast<double>(plan.queries);
    }
    SimulatedDeployment simulated;
    simulated.random_ = base::MakeSystemRandomSource();
    SUBMIX_ASSIGN_OR_RETURN(simulated.mechanism_, mechanism::MakeMechanism(options));
    if (plan.halves < simulated.mechanism_->halves()) {
      return base::InvalidArgumentError("the mechanism " + options.name + " needs " +
                                        std::to_string(simulated.mechanism_->halves()) +
                                        " members a part; train with --halves 2");
    }
    simulated.ledger_ =
        ledger::MakeMemoryLedger(plan.num_parts, accounting::FixedNats::RoundDown(setting.epsilon));
    return simulated;
  }

  // Answers one query; returns the probability of the true token's support index.
  StatusOr<double> Answer(const mechanism::PartPredictions& predictions, std::size_t true_index) {
    SUBMIX_ASSIGN_OR_RETURN(const auto remaining, ledger_->Remaining());
    SUBMIX_ASSIGN_OR_RETURN(auto proposal, mechanism_->Propose(predictions, remaining,
                                                               base::ReleaseId{0, ++releases_}));
    SUBMIX_ASSIGN_OR_RETURN(ledger::Receipt receipt, Charge(*proposal));
    if (proposal->leads_to_screen()) {
      mechanism::PrivateScreen screen = std::move(*proposal).Screen(receipt.paid());
      SUBMIX_ASSIGN_OR_RETURN(const auto left, ledger_->Remaining());
      SUBMIX_ASSIGN_OR_RETURN(
          proposal, engine::OpenScreen(std::move(screen), std::move(receipt), *random_, left,
                                       base::ReleaseId{0, ++releases_}));
      SUBMIX_ASSIGN_OR_RETURN(receipt, Charge(*proposal));
    }
    const mechanism::PrivateMixture mixture = std::move(*proposal).Mix(
        mechanism::OperatorView::Participants(*mechanism_, receipt.paid()), *random_);
    return mechanism::OperatorView::Probability(mixture, true_index);
  }

  StatusOr<std::vector<double>> SpentNats() const {
    SUBMIX_ASSIGN_OR_RETURN(const auto accounts, ledger_->Accounts());
    std::vector<double> spent;
    for (const ledger::Account& account : accounts)
      spent.push_back(account.spent.ToNatsRoundedUp());
    return spent;
  }

 private:
  StatusOr<ledger::Receipt> Charge(const mechanism::Proposal& proposal) {
    const ledger::ChargeRequest request{proposal.release_id(), mechanism_->charge_rule(),
                                        proposal.charges()};
    SUBMIX_ASSIGN_OR_RETURN(auto receipts, ledger_->Charge(std::span(&request, 1)));
    return std::move(receipts.front());
  }

  std::unique_ptr<base::RandomSource> random_;
  std::unique_ptr<mechanism::Mechanism> mechanism_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::uint64_t releases_ = 0;
};

// −log-likelihood sums of one run, of everything that is scored.
struct RunSums {
  double public_model = 0;
  std::vector<double> single;  // [members]
  double ensemble = 0;
  std::vector<double> fine_tuned;  // [num_fine_tuned]
  std::vector<double> settings;
};

double MeanMemberProbability(const mechanism::PartPredictions& predictions, std::size_t index) {
  double sum = 0;
  const int members = predictions.num_parts * predictions.halves;
  for (int part = 0; part < predictions.num_parts; ++part) {
    for (int half = 0; half < predictions.halves; ++half)
      sum += predictions.member(part, half)[index];
  }
  return sum / members;
}

// Scores the positions of one pass, run after run.
class Evaluator {
 public:
  Evaluator(const EvaluationPlan& plan, int vocab_size)
      : plan_(plan), vocab_size_(static_cast<std::size_t>(vocab_size)) {
    result_.fine_tuned.resize(static_cast<std::size_t>(plan.num_fine_tuned));
    for (const EvaluationSetting& setting : plan.settings) {
      result_.settings.emplace_back().setting = setting;
    }
  }

  bool done() const { return runs_done_ == plan_.runs; }

  Status Add(base::TokenId true_token, std::span<const float> logits) {
    if (queries_in_run_ == 0) SUBMIX_RETURN_IF_ERROR(StartRun());
    const std::size_t members = static_cast<std::size_t>(plan_.num_parts * plan_.halves);
    SUBMIX_RETURN_IF_ERROR(mapped_.Map(logits.first(vocab_size_),
                                       logits.subspan(vocab_size_, members * vocab_size_),
                                       plan_.halves, {}));
    const auto index = static_cast<std::size_t>(mapped_.IndexOf(true_token));
    const mechanism::PartPredictions predictions = mapped_.view();
    AddNonPrivate(predictions, index);
    for (std::size_t i = 0; i < sums_.fine_tuned.size(); ++i) {
      const auto row = logits.subspan((1 + members + i) * vocab_size_, vocab_size_);
      sums_.fine_tuned[i] -= LogProbability(row, true_token);
    }
    for (std::size_t i = 0; i < simulated_.size(); ++i) {
      SUBMIX_ASSIGN_OR_RETURN(const double probability, simulated_[i].Answer(predictions, index));
      sums_.settings[i] -= std::log(probability);
    }
    if (++queries_in_run_ == plan_.queries) return EndRun();
    return base::OkStatus();
  }

  EvaluationResult Finish() && {
    for (SettingResult& setting : result_.settings) {
      setting.epsilon_spent_mean /= static_cast<double>(plan_.runs) * plan_.num_parts;
    }
    return std::move(result_);
  }

 private:
  Status StartRun() {
    sums_ = RunSums();
    sums_.single.assign(static_cast<std::size_t>(plan_.num_parts * plan_.halves), 0);
    sums_.fine_tuned.assign(static_cast<std::size_t>(plan_.num_fine_tuned), 0);
    sums_.settings.assign(plan_.settings.size(), 0);
    simulated_.clear();
    for (const EvaluationSetting& setting : plan_.settings) {
      SUBMIX_ASSIGN_OR_RETURN(auto simulated, SimulatedDeployment::Create(setting, plan_));
      simulated_.push_back(std::move(simulated));
    }
    return base::OkStatus();
  }

  void AddNonPrivate(const mechanism::PartPredictions& predictions, std::size_t index) {
    sums_.public_model -= std::log(predictions.public_pmf[index]);
    for (std::size_t member = 0; member < sums_.single.size(); ++member) {
      const int part = static_cast<int>(member) / plan_.halves;
      const int half = static_cast<int>(member) % plan_.halves;
      sums_.single[member] -= std::log(predictions.member(part, half)[index]);
    }
    sums_.ensemble -= std::log(MeanMemberProbability(predictions, index));
  }

  double LogProbability(std::span<const float> logits, base::TokenId token) {
    scratch_.assign(logits.begin(), logits.end());
    return scratch_[static_cast<std::size_t>(token)] - divergence::LogSumExp(scratch_);
  }

  double Perplexity(double negative_log_likelihood) const {
    return std::exp(negative_log_likelihood / static_cast<double>(plan_.queries));
  }

  Status EndRun() {
    result_.public_model.runs.push_back(Perplexity(sums_.public_model));
    result_.ensemble.runs.push_back(Perplexity(sums_.ensemble));
    double single = 0;
    for (const double sum : sums_.single) single += Perplexity(sum);
    result_.single.runs.push_back(single / static_cast<double>(sums_.single.size()));
    for (std::size_t i = 0; i < sums_.fine_tuned.size(); ++i) {
      result_.fine_tuned[i].runs.push_back(Perplexity(sums_.fine_tuned[i]));
    }
    for (std::size_t i = 0; i < simulated_.size(); ++i) {
      SettingResult& setting = result_.settings[i];
      setting.perplexity.runs.push_back(Perplexity(sums_.settings[i]));
      SUBMIX_ASSIGN_OR_RETURN(const std::vector<double> spent, simulated_[i].SpentNats());
      setting.epsilon_spent_max =
          std::max(setting.epsilon_spent_max, *std::max_element(spent.begin(), spent.end()));
      setting.epsilon_spent_mean += std::accumulate(spent.begin(), spent.end(), 0.0);
    }
    queries_in_run_ = 0;
    ++runs_done_;
    return base::OkStatus();
  }

  const EvaluationPlan& plan_;
  const std::size_t vocab_size_;
  EvaluationResult result_;
  mechanism::MappedPredictions mapped_;
  std::vector<SimulatedDeployment> simulated_;  // [settings]
  RunSums sums_;
  std::vector<double> scratch_;
  std::int64_t queries_in_run_ = 0;
  int runs_done_ = 0;
};

Status CheckPlan(const ensemble::Predictor& predictor, const HeldoutBlocks& blocks,
                 const EvaluationPlan& plan) {
  const int members = plan.num_parts * plan.halves + plan.num_fine_tuned;
  if (predictor.num_members() != members) {
    return base::InvalidArgumentError("expected " + std::to_string(members) +
                                      " members, the predictor has " +
                                      std::to_string(predictor.num_members()));
  }
  if (plan.queries < 1 || plan.runs < 1) {
    return base::InvalidArgumentError("queries and runs must be at least 1");
  }
  const std::int64_t needed = plan.queries * plan.runs;
  if (const std::int64_t found = CountQueries(blocks); found < needed) {
    return base::InvalidArgumentError(
        "the held-out text has " + std::to_string(found) + " positions, but " +
        std::to_string(plan.runs) + " runs of " + std::to_string(plan.queries) + " need " +
        std::to_string(needed) + ": use fewer runs or queries, or more held-out text");
  }
  return base::OkStatus();
}

}  // namespace

double PerplexityRuns::mean() const {
  return std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
}

KeptShare Kept(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
               const PerplexityRuns& fine_tuned) {
  const auto share = [&](std::size_t left_out) {
    double gained = 0;
    double possible = 0;
    for (std::size_t r = 0; r < public_model.runs.size(); ++r) {
      if (r == left_out) continue;
      gained += public_model.runs[r] - private_mechanism.runs[r];
      possible += public_model.runs[r] - fine_tuned.runs[r];
    }
    return gained / possible;
  };
  const std::size_t runs = public_model.runs.size();
  KeptShare kept;
  kept.value = share(runs);
  double mean = 0;
  double squares = 0;
  for (std::size_t r = 0; r < runs; ++r) mean += share(r) / static_cast<double>(runs);
  for (std::size_t r = 0; r < runs; ++r) squares += (share(r) - mean) * (share(r) - mean);
  const double error =
      runs > 1 ? std::sqrt(squares * static_cast<double>(runs - 1) / static_cast<double>(runs))
               : std::numeric_limits<double>::infinity();
  kept.low = kept.value - 2 * error;
  kept.high = kept.value + 2 * error;
  return kept;
}

StatusOr<EvaluationResult> Evaluate(ensemble::Predictor& predictor, const HeldoutBlocks& blocks,
                                    const EvaluationPlan& plan, base::ProgressBar& progress) {
  SUBMIX_RETURN_IF_ERROR(CheckPlan(predictor, blocks, plan));
  Evaluator evaluator(plan, predictor.vocab_size());
  for (const std::vector<base::TokenId>& block : blocks) {
    if (evaluator.done()) break;
    SUBMIX_RETURN_IF_ERROR(predictor.Score(
        block, 1, [&](std::size_t position, std::span<const float> logits) -> Status {
          if (evaluator.done()) return base::OkStatus();
          progress.Advance(1);
          return evaluator.Add(block[position], logits);
        }));
  }
  return std::move(evaluator).Finish();
}

}  // namespace submix::eval
