#include "submix/mechanism/research/pair_weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "submix/base/check.h"
#include "submix/divergence/mixing_weight.h"
#include "submix/mechanism/kernels/shift_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

constexpr double kLawTotal = static_cast<double>(kTotalWeight);
// Of the excess, at orders other than 2. From the public law itself it is nearly a power of the
// weight; between two halves it may be none.
constexpr int kPairEvaluations = 16;
constexpr int kBallEvaluations = 12;

double Spread(const MemberPair& pair) {
  return kLawTotal - static_cast<double>(pair.public_pmf.size());
}

// 1 / G at a weight.
struct Node {
  double weight;
  double inverse;
};
using Weights = std::array<double, kQuotientsAtATime>;

double SlopeBetween(const Node& a, const Node& b) {
  return (b.inverse - a.inverse) / (b.weight - a.weight);
}

// What order 2 knows of G, and where its root may be.
class QuotientSearch {
 public:
  explicit QuotientSearch(double target) : target_(target) {}

  void Add(Node node) {
    nodes_[size_++] = node;
    std::sort(nodes_.begin(), nodes_.begin() + size_,
              [](const Node& a, const Node& b) { return a.weight < b.weight; });
    // Equal weights would make a chord of no length.
    const auto last =
        std::unique(nodes_.begin(), nodes_.begin() + size_,
                    [](const Node& a, const Node& b) { return a.weight == b.weight; });
    size_ = static_cast<std::size_t>(last - nodes_.begin());
  }

  // Feasible, by the chord around the root.
  double Safe() const {
    const std::size_t i = LastFeasible();
    if (i + 1 == size_) return nodes_[i].weight;
    // A little less of the chord, for rounding.
    constexpr double kShare = 1 - 0x1p-20;
    const double step = RootOf(nodes_[i], SlopeBetween(nodes_[i], nodes_[i + 1]));
    return std::clamp(nodes_[i].weight + kShare * step, nodes_[i].weight, nodes_[i + 1].weight);
  }

  // No larger weight is feasible, by the chords beside that one.
  double Top() const {
    const std::size_t i = LastFeasible();
    if (i + 1 == size_) return nodes_[i].weight;
    double top = nodes_[i + 1].weight;
    if (i > 0) {
      const double step = RootOf(nodes_[i], SlopeBetween(nodes_[i - 1], nodes_[i]));
      top = std::min(top, nodes_[i].weight + step);
    }
    if (i + 2 < size_) {
      const double step = RootOf(nodes_[i + 1], SlopeBetween(nodes_[i + 1], nodes_[i + 2]));
      top = std::min(top, nodes_[i + 1].weight + step);
    }
    return std::max(top, Safe());
  }

 private:
  // s^2 G(s) <= target. Written so that NaN is infeasible.
  bool IsFeasible(const Node& node) const {
    return node.weight * node.weight <= target_ * node.inverse;
  }
  // Weight 0 is feasible.
  std::size_t LastFeasible() const {
    std::size_t i = 0;
    while (i + 1 < size_ && IsFeasible(nodes_[i + 1])) ++i;
    return i;
  }
  // The larger root u of (s + u)^2 = target (inverse + slope u); 0 if there is none.
  double RootOf(const Node& node, double slope) const {
    const double half = (target_ * slope - 2 * node.weight) / 2;
    const double rest = target_ * node.inverse - node.weight * node.weight;
    const double root = std::sqrt(half * half + rest);
    if (!(root >= 0)) return 0;
    return half > 0 ? half + root : rest / (root - half);
  }

  double target_;
  std::size_t size_ = 0;
  std::array<Node, 4 * kQuotientsAtATime> nodes_{};
};

// G at four weights.
Weights Quotients(const MemberPair& pair, const Weights& weights) {
  QuotientLanes lanes;
  const std::size_t size = pair.public_pmf.size();
  const std::size_t whole = size / kBlockTokens * kBlockTokens;
  const auto add = [&](const double* public_pmf, const double* first, const double* second,
                       std::size_t count) {
    AddQuotients({public_pmf, first, second, Spread(pair)}, weights.data(), count, lanes);
  };
  add(pair.public_pmf.data(), pair.first.data(), pair.second.data(), whole);
  // The rows are not padded.
  std::array<std::array<double, kBlockTokens>, 3> rest{};
  std::copy(pair.public_pmf.begin() + whole, pair.public_pmf.end(), rest[0].begin());
  std::copy(pair.first.begin() + whole, pair.first.end(), rest[1].begin());
  std::copy(pair.second.begin() + whole, pair.second.end(), rest[2].begin());
  add(rest[0].data(), rest[1].data(), rest[2].data(), PadToLanes(size - whole));
  Weights sums;
  for (int j = 0; j < kQuotientsAtATime; ++j) {
    sums[j] = std::accumulate(lanes.sums[j], lanes.sums[j] + kLanes, 0.0) / kLawTotal;
  }
  return sums;
}

// Four weights from `safe` to `top`, evenly spaced in the logarithm of the odds s / (1 - s): where
// G is flat near weight 0 and where it rises without end near weight 1.
Weights WeightsBetween(double safe, double top) {
  constexpr double kLargestRatio = 10;  // of odds one weight apart
  const auto odds = [](double weight) {
    const double below_one = std::min(weight, 1 - 0x1p-40);
    return below_one / (1 - below_one);
  };
  const double ratio = std::min(std::cbrt(odds(top) / odds(safe)), kLargestRatio);
  Weights weights;
  double of_weight = odds(safe);
  for (double& weight : weights) {
    weight = of_weight / (1 + of_weight);
    of_weight *= ratio;
  }
  return weights;
}

double WeightByQuotients(const MemberPair& pair, double target) {
  constexpr int kFurtherSweeps = 2;
  QuotientSearch search(target);
  Weights weights = {0, 0x1p-6, 0.9, 1};
  for (int sweep = 0;; ++sweep) {
    const Weights quotients = Quotients(pair, weights);
    for (int j = 0; j < kQuotientsAtATime; ++j) search.Add({weights[j], 1 / quotients[j]});
    if (sweep == kFurtherSweeps) return search.Safe();
    weights = WeightsBetween(search.Safe(), search.Top());
  }
}

}  // namespace

double LargestPairWeight(const MemberPair& pair, const ShiftExcess& kernel, double target) {
  SUBMIX_CHECK(
      pair.first.size() == pair.public_pmf.size() && pair.second.size() == pair.public_pmf.size(),
      "two members on the public support");
  if (!(target > 0)) return 0;
  if (kernel.order().value() == 2) return WeightByQuotients(pair, target);
  const double spread = Spread(pair);
  std::vector<double> den(pair.public_pmf.size());
  std::vector<double> shift(pair.public_pmf.size());
  return divergence::LargestFeasible(1.0, target, kPairEvaluations, [&](double weight) {
    for (std::size_t x = 0; x < den.size(); ++x) {
      den[x] = 1 + spread * ((1 - weight) * pair.public_pmf[x] + weight * pair.second[x]);
      shift[x] = weight * spread * (pair.first[x] - pair.second[x]);
    }
    return kernel.Of(den, shift, /*scale=*/1, kLawTotal).forward;
  });
}

double LargestBallWeight(std::span<const double> public_pmf, std::span<const double> part,
                         const ShiftExcess& kernel, double target) {
  SUBMIX_CHECK(part.size() == public_pmf.size(), "a part on the public support");
  if (!(target > 0)) return 0;
  if (kernel.order().value() == 2) {
    return std::min(WeightByQuotients({public_pmf, part, public_pmf}, target),
                    WeightByQuotients({public_pmf, public_pmf, part}, target));
  }
  const double spread = kLawTotal - static_cast<double>(part.size());
  std::vector<double> law(part.size());
  std::vector<double> distance(part.size());
  for (std::size_t x = 0; x < part.size(); ++x) {
    law[x] = 1 + spread * public_pmf[x];
    distance[x] = spread * (part[x] - public_pmf[x]);
  }
  return divergence::LargestFeasible(1.0, target, kBallEvaluations, [&](double weight) {
    return kernel.Of(law, distance, weight, kLawTotal).larger();
  });
}

}  // namespace submix::mechanism
