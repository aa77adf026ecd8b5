// `submix account` as functions: each calls what its sub-command calls, and no formula stands here.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "submix/accounting/calculators/composed_profile.h"
#include "submix/accounting/calculators/counted_release.h"
#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/accounting/calculators/extraction_bound.h"
#include "submix/accounting/calculators/group_privacy.h"
#include "submix/accounting/calculators/pmixed_target.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/accounting/user_level.h"
#include "submix/base/check.h"
#include "submix/divergence/renyi_order.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using accounting::ConversionKind;
using accounting::CountedKind;
using accounting::CountedRelease;
using accounting::kDefaultDelta;
using accounting::MechanismRun;
using accounting::PrivacyStatement;
using accounting::RdpBound;
using divergence::RenyiOrder;

// --- What is in range

void Check(const char* name, bool is_in_range, const char* range) {
  if (is_in_range) return;
  RaiseIfError(base::InvalidArgumentError(std::string(name) + ": expected " + range));
}
double Positive(const char* name, double value) {
  Check(name, value > 0 && std::isfinite(value), "a number above 0");
  return value;
}
std::int64_t Count(const char* name, std::int64_t value) {
  Check(name, value >= 1 && value <= std::int64_t{1} << 53, "a whole number from 1 to 2^53");
  return value;
}

// --- Conversions

RdpBound Bound(double rdp, double order) { return {ValueOrRaise(RenyiOrder::Create(order)), rdp}; }

ConversionKind Kind(bool classic) {
  return classic ? ConversionKind::kClassic : ConversionKind::kImproved;
}

double Epsilon(double rdp, double order, double delta, bool classic) {
  return ValueOrRaise(accounting::EpsilonForDelta(Bound(rdp, order), delta, Kind(classic)));
}

double Delta(double rdp, double order, double epsilon, bool classic) {
  return ValueOrRaise(accounting::DeltaForEpsilon(Bound(rdp, order), epsilon, Kind(classic)));
}

double Rdp(double epsilon, double delta, double order, bool classic) {
  return ValueOrRaise(accounting::RdpForEpsilon(ValueOrRaise(RenyiOrder::Create(order)),
                                                {epsilon, delta}, Kind(classic)));
}

std::pair<double, double> UserLevel(double rdp, double order) {
  Check("rdp", rdp >= 0, "a number >= 0");
  const RdpBound part = Bound(rdp, order);
  const auto level = ValueOrRaise(accounting::UserLevelFromPartOrder(part.order));
  return {level.factor * part.rdp, level.order.value()};
}

double PartOrder(double user_order) {
  const auto order = ValueOrRaise(RenyiOrder::Create(user_order));
  return ValueOrRaise(accounting::PartOrderForUserOrder(order)).value();
}

struct Extraction {
  double success = 1;
  double success_fano = 1;
};

Extraction ExtractionBounds(double rdp, double order, double candidates, double holders) {
  Check("rdp", rdp >= 0, "a number >= 0");
  Check("candidates", candidates >= 1, "a number >= 1");
  Check("holders", holders >= 1 && std::isfinite(holders), "a number >= 1");
  const RdpBound group =
      ValueOrRaise(accounting::GroupBound(Bound(rdp, order), accounting::DoublingsFor(holders)));
  return {accounting::RenyiExtractionBound(group, candidates),
          accounting::FanoExtractionBound(group.rdp, candidates)};
}

// --- What many releases cost

struct Cost {
  std::int64_t count = 1;
  double epsilon = 0;
  double delta = kDefaultDelta;
  std::optional<double> order;  // none: the conversion does not say which was best
  std::string statement;
};

Cost CostOf(std::int64_t count, const std::vector<RdpBound>& bounds, double delta,
            const PrivacyStatement& statement) {
  const auto best = ValueOrRaise(BestEpsilon(bounds, delta, ConversionKind::kImproved));
  return {count, best.epsilon, delta, best.order.value(), statement.Labels()};
}

Cost CostOfRuns(const MechanismRun& run, std::int64_t count, double delta,
                const PrivacyStatement& statement) {
  const accounting::PrivacyEvent event = {run, Count("count", count)};
  return CostOf(count, accounting::CountRdp({&event, 1}, accounting::DefaultOrders()), delta,
                statement);
}

Cost MostOfRuns(const MechanismRun& run, double epsilon, double delta,
                const PrivacyStatement& statement) {
  const auto most = ValueOrRaise(MostRuns(run, {epsilon, delta}, accounting::DefaultOrders()));
  return {most.count, epsilon, delta, most.order.value(), statement.Labels()};
}

void CheckSaysOfUsers(const CountedRelease& release) {
  if (release.user_run) return;
  RaiseIfError(
      base::InvalidArgumentError("nothing is said about users: " + release.statement.Labels()));
}

double ReleaseRdp(const CountedRelease& release, double order, std::int64_t count) {
  const accounting::PrivacyEvent event = {release.run, Count("count", count)};
  const RenyiOrder at = ValueOrRaise(RenyiOrder::Create(order));
  return accounting::CountRdp({&event, 1}, {&at, 1}).front().rdp;
}

std::pair<double, double> ExactEpsilon(const CountedRelease& release, std::int64_t count,
                                       double delta) {
  const auto profile = ValueOrRaise(accounting::ComposedProfile({release.run, count}));
  const auto exact = ValueOrRaise(ComposedEpsilon(profile, delta));
  return {exact.lower, exact.upper};
}

Cost VotesCost(const std::vector<double>& votes, double noise_scale, std::int64_t answers,
               double delta) {
  Check("votes", !votes.empty(), "one number of votes for each token");
  for (const double count : votes) {
    Check("votes", count >= 0 && std::isfinite(count), "numbers >= 0");
  }
  const auto number = static_cast<double>(Count("answers", answers));
  return CostOf(answers,
                accounting::GnmaxVotesRdp(votes, Positive("noise_scale", noise_scale), number),
                delta, accounting::GnmaxVotesStatement());
}

Cost FedAvg(double users, double users_per_round, double noise_multiplier, std::int64_t rounds,
            double delta, bool classic) {
  const accounting::FedAvgSettings settings = {users, users_per_round, noise_multiplier, rounds,
                                               delta};
  Cost cost = {rounds, 0, delta, {}, accounting::FedAvgStatement(Kind(classic)).Labels()};
  if (classic) {
    cost.epsilon = ValueOrRaise(FedAvgEpsilon(settings));
  } else {
    const auto best = ValueOrRaise(FedAvgBestEpsilon(settings));
    cost.epsilon = best.epsilon;
    cost.order = best.order.value();
  }
  return cost;
}

void BindConversions(py::module_& accounting) {
  accounting.def("epsilon", &Epsilon, py::arg("rdp"), py::arg("order"), py::arg("delta"),
                 py::kw_only(), py::arg("classic") = false,
                 "The least epsilon of a guarantee of `rdp` nats at `order` (> 1 or inf) at this "
                 "delta in (0, 1); by the improved conversion (arXiv 2004.00010), or Mironov's "
                 "with classic=True. ValueError out of range.");
  accounting.def("delta", &Delta, py::arg("rdp"), py::arg("order"), py::arg("epsilon"),
                 py::kw_only(), py::arg("classic") = false,
                 "The least delta of the same guarantee at this epsilon >= 0.");
  accounting.def("rdp", &Rdp, py::arg("epsilon"), py::arg("delta"), py::arg("order"), py::kw_only(),
                 py::arg("classic") = false,
                 "What a budget at `order` may be for this promise: the most nats whose epsilon at "
                 "delta is not above it.");
  accounting.def(
      "zcdp_epsilon",
      [](double rho, double delta) { return ValueOrRaise(accounting::EpsilonForZcdp(rho, delta)); },
      py::arg("rho"), py::arg("delta") = kDefaultDelta,
      "The least epsilon of rho-zCDP (rho times the order at every order) at delta.");
  accounting.def("user_level", &UserLevel, py::arg("rdp"), py::arg("order"),
                 "(rdp, order) of one user key, whose records change, from a bound for a part that "
                 "is replaced by the public model (Theorem 5). order > 1.");
  accounting.def("part_order", &PartOrder, py::arg("user_order"),
                 "The order to declare for parts so that user_level's is this one, > 1.");
  py::class_<Extraction>(accounting, "Extraction", "Probabilities, at most 1.")
      .def_readonly("success", &Extraction::success,
                    "if each candidate's releases are within the bound of one reference")
      .def_readonly("success_fano", &Extraction::success_fano,
                    "by Fano's inequality, if those of any two candidates are")
      .def("__repr__", [](const Extraction& bounds) {
        return py::str("Extraction(success={}, success_fano={})")
            .format(bounds.success, bounds.success_fano);
      });
  accounting.def("extraction", &ExtractionBounds, py::arg("rdp"), py::arg("order"),
                 py::arg("candidates"), py::kw_only(), py::arg("holders") = 1.0,
                 "How often the least lucky of the candidates of a secret is guessed, at most. "
                 "holders: units that hold it; the bound is for the next power of two of them.");
}

CountedRelease MakeRelease(const CountedKind& kind, const std::vector<double>& values) {
  for (std::size_t p = 0; p < values.size(); ++p) {
    const accounting::ReleaseParameter& parameter = kind.parameters[p];
    Check(parameter.name, parameter.range.has(values[p]), parameter.range.text);
  }
  return kind.make(values);
}

// A function with the kind's parameters: one, two, or two and a third that may be left out.
void BindKind(py::module_& module, const CountedKind& kind) {
  std::string name = kind.name;
  std::ranges::replace(name, '-', '_');
  std::string help = kind.summary;
  std::vector<py::arg> arguments;
  for (const accounting::ReleaseParameter& parameter : kind.parameters) {
    arguments.emplace_back(parameter.name);
    help +=
        std::string(". ") + parameter.name + ": " + parameter.help + "; " + parameter.range.text;
  }
  if (arguments.size() == 1) {
    module.def(
        name.c_str(), [&kind](double first) { return MakeRelease(kind, {first}); }, arguments[0],
        help.c_str());
  } else if (arguments.size() == 2) {
    module.def(
        name.c_str(),
        [&kind](double first, double second) {
          return MakeRelease(kind, {first, second});
        },
        arguments[0], arguments[1], help.c_str());
  } else {
    SUBMIX_CHECK(arguments.size() == 3 && kind.parameters[2].is_optional, "no such signature");
    module.def(
        name.c_str(),
        [&kind](double first, double second, double third) {
          return MakeRelease(kind, {first, second, third});
        },
        arguments[0], arguments[1], py::kw_only(), arguments[2] = kind.parameters[2].usual,
        help.c_str());
  }
}

void BindReleases(py::module_& accounting) {
  py::class_<Cost>(accounting, "Cost", "What `count` releases cost, and for whom that holds.")
      .def_readonly("count", &Cost::count)
      .def_readonly("epsilon", &Cost::epsilon, "nats, at delta")
      .def_readonly("delta", &Cost::delta)
      .def_readonly("order", &Cost::order, "the best Renyi order; None where none is told")
      .def_readonly("statement", &Cost::statement, "unit, neighbours, scope and proof")
      .def("__repr__", [](const Cost& cost) {
        return py::str("Cost(count={}, epsilon={}, delta={}, order={}, statement={!r})")
            .format(cost.count, cost.epsilon, cost.delta, cost.order, cost.statement);
      });
  py::class_<CountedRelease>(accounting, "Release",
                             "A kind of release of which a number that is fixed beforehand is "
                             "counted. delta in (0, 1); count from 1 to 2^53; ValueError else.")
      .def_property_readonly(
          "statement", [](const CountedRelease& release) { return release.statement.Labels(); },
          "Unit, neighbours, scope and proof of every number but the users'.")
      .def("__repr__",
           [](const CountedRelease& release) {
             return py::str("Release(statement={!r})").format(release.statement.Labels());
           })
      .def("rdp", &ReleaseRdp, py::arg("order"), py::arg("count") = 1,
           "Renyi divergence of `count` of them at the order in (0, inf], in nats, rounded up.")
      .def(
          "epsilon",
          [](const CountedRelease& release, std::int64_t count, double delta) {
            return CostOfRuns(release.run, count, delta, release.statement);
          },
          py::arg("count"), py::arg("delta") = kDefaultDelta,
          "The Cost of so many, by the improved conversion at the best order.")
      .def(
          "user_epsilon",
          [](const CountedRelease& release, std::int64_t count, double delta) {
            CheckSaysOfUsers(release);
            return CostOfRuns(*release.user_run, count, delta, UserStatement(release));
          },
          py::arg("count"), py::arg("delta") = kDefaultDelta,
          "The same for one user key. ValueError where nothing is said about users.")
      .def(
          "most",
          [](const CountedRelease& release, double epsilon, double delta) {
            return MostOfRuns(release.run, epsilon, delta, release.statement);
          },
          py::arg("epsilon"), py::arg("delta") = kDefaultDelta,
          "The Cost with the largest count that stays within epsilon.")
      .def(
          "user_most",
          [](const CountedRelease& release, double epsilon, double delta) {
            CheckSaysOfUsers(release);
            return MostOfRuns(*release.user_run, epsilon, delta, UserStatement(release));
          },
          py::arg("epsilon"), py::arg("delta") = kDefaultDelta)
      .def("exact_epsilon", &ExactEpsilon, py::arg("count"), py::arg("delta") = kDefaultDelta,
           "(from, to): the least epsilon lies between. A report only; no filter may use it. Of "
           "laplace, dclip and dp_decoding; submix.Error for the others.");
  for (const CountedKind& kind : submix::accounting::CountedKinds()) BindKind(accounting, kind);
}

void BindPapers(py::module_& accounting) {
  accounting.def("gnmax_votes", &VotesCost, py::arg("votes"), py::arg("noise_scale"),
                 py::arg("answers"), py::arg("delta") = kDefaultDelta,
                 "The Cost of so many answers of gnmax if all have these votes, one number a "
                 "token. It depends on the votes, so it is private as they are.");
  accounting.def("fedavg", &FedAvg, py::arg("users"), py::arg("users_per_round"),
                 py::arg("noise_multiplier"), py::arg("rounds"), py::arg("delta"), py::kw_only(),
                 py::arg("classic") = false,
                 "The Cost of rounds of DP-FedAvg, each user in a round with probability "
                 "users_per_round / users; classic: as the paper counts, orders 2 to 33.");
  py::class_<accounting::PmixedTargets>(accounting, "PmixedTargets", "Research: not proven.")
      .def_readonly("rdp_per_answer", &accounting::PmixedTargets::rdp_per_answer,
                    "nats at the order")
      .def_readonly("beta", &accounting::PmixedTargets::beta,
                    "by the number of parts drawn, from 0")
      .def_property_readonly(
          "statement",
          [](const accounting::PmixedTargets&) { return accounting::PmixedStatement().Labels(); })
      .def("__repr__", [](const accounting::PmixedTargets& targets) {
        return py::str("PmixedTargets(rdp_per_answer={}, beta={})")
            .format(targets.rdp_per_answer, targets.beta);
      });
  accounting.def(
      "pmixed",
      [](double epsilon, double delta, std::int64_t answers, double probability, int parts,
         int order) {
        return ValueOrRaise(
            accounting::PmixedTarget({epsilon, delta, answers, probability, parts, order}));
      },
      py::arg("epsilon"), py::arg("delta"), py::arg("answers"), py::arg("sampling_probability"),
      py::arg("parts"), py::arg("order"),
      "PMixED's targets as published, for (epsilon, delta) over all answers.");
}

}  // namespace

void BindAccounting(py::module_& module) {
  py::module_ accounting = module.def_submodule(
      "accounting",
      "What `submix account` computes: what releases cost, without a model or a ledger. All in "
      "nats; ValueError names what is out of range. Sources: docs/accounting.md.");
  BindConversions(accounting);
  BindReleases(accounting);
  BindPapers(accounting);
}

}  // namespace submix::python
