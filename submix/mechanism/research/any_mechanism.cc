#include "submix/mechanism/research/any_mechanism.h"

#include <string_view>
#include <utility>

#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/mechanism/research/adapmixed.h"
#include "submix/mechanism/research/counted_gnmax.h"
#include "submix/mechanism/research/ensemble_mean.h"
#include "submix/mechanism/research/published_aggregate.h"
#include "submix/mechanism/research/published_pmixed.h"
#include "submix/mechanism/research/submix.h"

namespace submix::mechanism {
namespace {

bool Always(ChargeAccounting) { return true; }
bool AsPublished(ChargeAccounting accounting) { return accounting == ChargeAccounting::kPublished; }
bool CountsVotes(ChargeAccounting accounting) {
  return AsPublished(accounting) || accounting == ChargeAccounting::kLeaveOneOut;
}
bool NotWorstCase(ChargeAccounting accounting) {
  return accounting != ChargeAccounting::kWorstCase;
}

// Those of a proven mechanism's name are research by the way they count.
struct ResearchMechanism {
  std::string_view name;
  bool (*is_research)(ChargeAccounting);
  base::StatusOr<std::unique_ptr<Mechanism>> (*make)(const MechanismOptions&);
};
constexpr ResearchMechanism kResearch[] = {
    {kSubmixName, Always, MakeBy<Submix>},
    {kAdaPMixedName, Always, MakeBy<AdaPMixed>},
    {kEnsembleMeanName, Always, MakeBy<EnsembleMean>},
    {kPMixedName, NotWorstCase, MakeBy<PublishedPMixed>},
    {kGnmaxName, CountsVotes, MakeBy<CountedGnmax>},
    {kSampleAndAggregateName, AsPublished, MakeBy<PublishedAggregate>},
};

}  // namespace

base::StatusOr<std::unique_ptr<Mechanism>> MakeAnyMechanism(const MechanismOptions& options) {
  for (const ResearchMechanism& research : kResearch) {
    if (research.name == options.name && research.is_research(options.accounting)) {
      return research.make(options);
    }
  }
  if ((", " + MechanismNames() + ",").find(", " + options.name + ",") == std::string::npos) {
    return base::InvalidArgumentError("mechanism '" + options.name + "' is unknown; known are " +
                                      AnyMechanismNames());
  }
  return MakeMechanism(options);
}

std::string AnyMechanismNames() {
  std::string names = MechanismNames();
  for (const ResearchMechanism& research : kResearch) {
    if (research.is_research(ChargeAccounting::kWorstCase)) {
      names += ", " + std::string(research.name);
    }
  }
  return names;
}

}  // namespace submix::mechanism
