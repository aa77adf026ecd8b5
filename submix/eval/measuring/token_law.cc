#include "submix/eval/measuring/token_law.h"

#include <optional>
#include <utility>

#include "submix/divergence/softmax.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/simulated_deployment.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/mechanism.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

class RowLaw final : public TokenLaw {
 public:
  explicit RowLaw(std::size_t row) : row_(row) {}

  Status Next(std::span<const float> logits, std::span<double> pmf) override {
    if (!divergence::Softmax(logits.subspan(row_ * pmf.size(), pmf.size()), 1, pmf)) {
      return base::InternalError("the attacked model's logits are not finite");
    }
    return base::OkStatus();
  }
  Status Renew() override { return base::OkStatus(); }

 private:
  const std::size_t row_;
};

class MechanismLaw final : public TokenLaw {
 public:
  MechanismLaw(std::shared_ptr<const mechanism::Mechanism> mechanism, int num_parts, double epsilon,
               int halves, std::uint64_t seed)
      : mechanism_(std::move(mechanism)),
        num_parts_(num_parts),
        epsilon_(epsilon),
        halves_(halves),
        seed_(seed) {}

  Status Next(std::span<const float> logits, std::span<double> pmf) override {
    const std::size_t vocab_size = pmf.size();
    const auto rows = static_cast<std::size_t>(num_parts_ * halves_);
    SUBMIX_RETURN_IF_ERROR(mapped_.Map(logits.first(vocab_size),
                                       logits.subspan(vocab_size, rows * vocab_size), halves_, {}));
    return simulated_->Answer(mapped_.view(), pmf);
  }

  Status Renew() override {
    auto random = RepeatableDraws(seed_, "mechanism of a law", renewals_++);
    SUBMIX_ASSIGN_OR_RETURN(
        simulated_,
        SimulatedDeployment::Create(mechanism_, num_parts_, epsilon_, halves_, std::move(random)));
    return base::OkStatus();
  }

 private:
  const std::shared_ptr<const mechanism::Mechanism> mechanism_;
  const int num_parts_;
  const double epsilon_;
  const int halves_;
  const std::uint64_t seed_;
  std::uint64_t renewals_ = 0;
  std::optional<SimulatedDeployment> simulated_;
  mechanism::MappedPredictions mapped_;
};

}  // namespace

std::unique_ptr<TokenLaw> MakeRowLaw(std::size_t row) { return std::make_unique<RowLaw>(row); }

StatusOr<std::unique_ptr<TokenLaw>> MakeMechanismLaw(const mechanism::MechanismOptions& options,
                                                     double epsilon, int halves,
                                                     std::uint64_t seed) {
  SUBMIX_ASSIGN_OR_RETURN(std::shared_ptr<const mechanism::Mechanism> mechanism,
                          mechanism::MakeMechanism(options));
  std::unique_ptr<TokenLaw> law = std::make_unique<MechanismLaw>(
      std::move(mechanism), options.num_parts, epsilon, halves, seed);
  SUBMIX_RETURN_IF_ERROR(law->Renew());
  return law;
}

}  // namespace submix::eval
