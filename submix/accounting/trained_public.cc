#include "submix/accounting/trained_public.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "submix/accounting/stated_bounds.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

constexpr const char* kTrainingProof =
    "Mironov, Talwar and Zhang 2019; docs/privacy.md, Theorem 14";

// What all steps cost, in nats.
double StepsRdp(const PublicTraining& training, RenyiOrder order) {
  return static_cast<double>(training.steps) *
         SubsampledGaussianRdp(training.step.sampling_probability, training.step.noise_multiplier,
                               order);
}

// The least bound of those at this order and above: divergences grow with the order.
std::optional<double> BoundAt(const std::vector<RdpBound>& bounds, RenyiOrder order) {
  std::optional<double> least;
  for (const RdpBound& bound : bounds) {
    if (bound.order.value() < order.value()) continue;
    if (!least.has_value() || bound.rdp < *least) least = bound.rdp;
  }
  return least;
}

// The sum as a statement, the order that converts best first.
PrivacyStatement AddedStatement(const PrivacyStatement& answers, std::vector<RdpBound> bounds) {
  PrivacyStatement statement;
  statement.mechanism = answers.mechanism;
  statement.unit = PrivacyUnit::kUserKey;
  statement.adjacency = Adjacency::kPresence;
  statement.worst_case = true;
  statement.proven = true;
  statement.proof = answers.proof + "; public model and sum: docs/privacy.md, Theorems 14 and 15";
  statement.delta = answers.delta;
  const auto best = BestEpsilon(bounds, answers.delta, ConversionKind::kImproved);
  RdpBound first = bounds.front();
  if (best.ok()) first = {best->order, best->rdp};
  statement.order = first.order;
  statement.epsilon = FixedNats::RoundUp(first.rdp);
  statement.further_bounds = std::move(bounds);
  return statement;
}

// The lines after the first, which names the mechanism.
void AddBody(const PrivacyStatement& statement, std::vector<std::string>& lines) {
  const std::vector<std::string> body = statement.Lines();
  lines.insert(lines.end(), body.begin() + 1, body.end());
}

}  // namespace

PrivacyStatement TrainingStatement(const PublicTraining& training, double delta) {
  PrivacyStatement statement;
  statement.mechanism = training.mechanism;
  statement.unit = training.unit;
  statement.adjacency = Adjacency::kPresence;
  statement.worst_case = true;
  statement.proven = true;
  statement.proof = kTrainingProof;
  statement.delta = delta;
  for (const RenyiOrder order : DefaultOrders()) {
    statement.further_bounds.push_back({order, StepsRdp(training, order)});
  }
  const auto best = BestEpsilon(statement.further_bounds, delta, ConversionKind::kImproved);
  const RdpBound first =
      best.ok() ? RdpBound{best->order, best->rdp} : statement.further_bounds.front();
  statement.order = first.order;
  statement.epsilon = FixedNats::RoundUp(first.rdp);
  return statement;
}

std::vector<RdpBound> AddedUserBounds(const PrivacyStatement& answers,
                                      const PublicTraining& training) {
  if (!answers.worst_case || !answers.proven || training.unit != PrivacyUnit::kUserKey) return {};
  const std::vector<RdpBound> of_users =
      answers.unit == PrivacyUnit::kPart ? StatedUserLevelBounds(answers) : StatedBounds(answers);
  std::vector<RenyiOrder> orders = DefaultOrders();
  for (const RdpBound& bound : of_users) orders.push_back(bound.order);
  std::vector<RdpBound> sums;
  for (const RenyiOrder order : orders) {
    const std::optional<double> of_answers = BoundAt(of_users, order);
    if (!of_answers.has_value()) continue;
    const double sum = *of_answers + StepsRdp(training, order);
    if (std::isfinite(sum)) sums.push_back({order, sum});
  }
  return sums;
}

std::vector<std::string> LinesAbovePublicTraining(const PrivacyStatement& answers,
                                                  const PublicTraining& training) {
  const std::string model = "a public model trained by " + training.mechanism;
  if (!training.same_users) {
    std::vector<std::string> lines = answers.Lines();
    lines.push_back("above " + model + " on other users; each user is in one of the two corpora. " +
                    "For those of the public model:");
    AddBody(TrainingStatement(training, answers.delta), lines);
    return lines;
  }
  std::vector<std::string> lines = {
      "mechanism: " + answers.mechanism + ", above " + model + " on users of the same corpus",
      "for one part nothing follows: the public model has read its users' text too"};
  std::vector<RdpBound> bounds = AddedUserBounds(answers, training);
  if (bounds.empty()) {
    lines.push_back(
        "for one user key nothing follows: that needs a proven user-level bound for the answers "
        "and "
        "a public model trained with users as its unit");
    return lines;
  }
  lines.push_back("for one user key, answers and public model together:");
  AddBody(AddedStatement(answers, std::move(bounds)), lines);
  return lines;
}

}  // namespace submix::accounting
