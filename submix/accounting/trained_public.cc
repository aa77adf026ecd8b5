#include "submix/accounting/trained_public.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

constexpr const char* kTrainingProof =
    "Mironov, Talwar and Zhang 2019; docs/privacy.md, Theorem 14";

// What all steps cost, in nats.
double StepsRdp(const PublicCost& training, RenyiOrder order) {
  return Outward(static_cast<double>(training.steps) *
                 SubsampledGaussianRdp(training.step.sampling_probability,
                                       training.step.noise_multiplier, order));
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

// The statement of these bounds, the order that converts best first.
PrivacyStatement WithBounds(PrivacyStatement statement, std::vector<RdpBound> bounds) {
  const auto best = BestEpsilon(bounds, statement.delta, ConversionKind::kImproved);
  const RdpBound first = best.ok() ? RdpBound{best->order, best->rdp} : bounds.front();
  statement.order = first.order;
  statement.epsilon = FixedNats::RoundUp(first.rdp);
  statement.further_bounds = std::move(bounds);
  return statement;
}

// The sum as a statement.
PrivacyStatement AddedStatement(const PrivacyStatement& answers, std::vector<RdpBound> bounds) {
  PrivacyStatement statement = ProvenStatement(
      PrivacyUnit::kUserKey, answers.public_keys ? Adjacency::kEmptied : Adjacency::kPresence,
      answers.proof + "; public model and sum: docs/privacy.md, Theorems 14 and 15");
  statement.mechanism = answers.mechanism;
  statement.released = Released::kAnswersAndPublicModel;
  statement.delta = answers.delta;
  return WithBounds(std::move(statement), std::move(bounds));
}

// For one user of both corpora.
Promise OfSameUsers(const PrivacyStatement& answers, const PublicCost& training) {
  PrivacyStatement of_part = answers;
  of_part.mechanism += " above a public model trained by " + training.mechanism;
  PromiseLevel part = {"part", of_part,
                       "nothing follows: the public model has read its users' text too"};
  std::vector<RdpBound> bounds = AddedUserBounds(answers, training);
  if (!bounds.empty()) {
    const PrivacyStatement sum = AddedStatement(of_part, std::move(bounds));
    return MakePromise(PromiseSentence(sum), {{"user", sum}, part});
  }
  PromiseLevel user = {
      "user", of_part,
      "nothing follows: that needs a proven user-level bound for the answers and "
      "a public model trained with users as its unit" +
          std::string(answers.public_keys ? ", in which one whose records are empty is absent"
                                          : "")};
  user.statement.unit = PrivacyUnit::kUserKey;
  return MakePromise(
      "Nothing is proven for one user's text, which answers and public model may both have read.",
      {user, part});
}

// For the users of the answers, then for those of the public model: each is one of the two.
Promise OfOtherUsers(const PrivacyStatement& answers, const PublicCost& training) {
  Promise promise = PromiseOf(answers);
  const PrivacyStatement of_training = TrainingStatement(training, answers.delta);
  const bool is_user = training.unit == PrivacyUnit::kUserKey;
  promise.sentence += " The public model is " + PrivateTo(of_training) +
                      (is_user ? " for the text of one of its own users, who are others."
                               : " for one document of its own users, who are others.") +
                      WeaknessOf(of_training);
  promise.columns.push_back(is_user ? "user of the public model" : "document of the public model");
  const Promise own = PromiseOf(of_training);
  for (std::size_t row = 0; row < own.rows.size(); ++row) {
    std::string& cell = promise.rows[row].cells.emplace_back(own.rows[row].cells.front());
    if (own.rows[row].label == "unit") cell += ", in its corpus only";
  }
  return promise;
}

}  // namespace

PrivacyStatement TrainingStatement(const PublicCost& training, double delta) {
  PrivacyStatement statement = ProvenStatement(training.unit, Adjacency::kPresence, kTrainingProof);
  statement.mechanism = training.mechanism;
  statement.released = Released::kModel;
  statement.delta = delta;
  std::vector<RdpBound> bounds;
  for (const RenyiOrder order : DefaultOrders()) {
    bounds.push_back({order, StepsRdp(training, order)});
  }
  return WithBounds(std::move(statement), std::move(bounds));
}

std::vector<RdpBound> AddedUserBounds(const PrivacyStatement& answers, const PublicCost& training) {
  if (!answers.worst_case || !answers.proven || training.unit != PrivacyUnit::kUserKey) return {};
  if (answers.public_keys && !training.empty_is_absent) return {};
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

Promise PromiseAbovePublicTraining(const PrivacyStatement& answers, const PublicCost& training) {
  return training.same_users ? OfSameUsers(answers, training) : OfOtherUsers(answers, training);
}

}  // namespace submix::accounting
