#include "submix/mechanism/declaring/make_mechanism.h"

#include "submix/mechanism/baselines/dp_decoding.h"
#include "submix/mechanism/baselines/gnmax.h"
#include "submix/mechanism/baselines/pmixed.h"
#include "submix/mechanism/baselines/public_model.h"
#include "submix/mechanism/baselines/sample_and_aggregate.h"
#include "submix/mechanism/baselines/screened.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"

namespace submix::mechanism {
namespace {

constexpr NamedMaker kMechanisms[] = {
    {kFilteredSubmixName, MakeBy<FilteredSubmix>},
    {kDClipName, MakeBy<DClip>},
    {kFilteredDClipName, MakeBy<FilteredDClip>},
    {kScreenedName, MakeBy<Screened>},
    {kPMixedName, MakeBy<PMixed>},
    {kSampleAndAggregateName, MakeBy<SampleAndAggregate>},
    {kGnmaxName, MakeBy<Gnmax>},
    {kDpDecodingName, MakeBy<DpDecoding>},
    {kPublicModelName, MakeBy<PublicModel>},
};

}  // namespace

base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(const MechanismOptions& options) {
  for (const auto& [name, make] : kMechanisms) {
    if (name == options.name) return make(options);
  }
  return base::InvalidArgumentError("mechanism '" + options.name +
                                    "' is not among those that are proven: " + MechanismNames());
}

std::string MechanismNames() {
  std::string names;
  for (const auto& [name, make] : kMechanisms) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace submix::mechanism
