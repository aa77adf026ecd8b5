#include "submix/mechanism/baselines/make_mechanism.h"

#include <string_view>
#include <utility>

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

// Every mechanism's Create returns its own type.
template <typename T>
base::StatusOr<std::unique_ptr<Mechanism>> Create(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(std::unique_ptr<T> mechanism, T::Create(options));
  return std::unique_ptr<Mechanism>(std::move(mechanism));
}

constexpr std::pair<std::string_view,
                    base::StatusOr<std::unique_ptr<Mechanism>> (*)(const MechanismOptions&)>
    kMechanisms[] = {
        {kFilteredSubmixName, Create<FilteredSubmix>},
        {kDClipName, Create<DClip>},
        {kFilteredDClipName, Create<FilteredDClip>},
        {kScreenedName, Create<Screened>},
        {kPMixedName, Create<PMixed>},
        {kSampleAndAggregateName, Create<SampleAndAggregate>},
        {kGnmaxName, Create<Gnmax>},
        {kDpDecodingName, Create<DpDecoding>},
        {kPublicModelName, Create<PublicModel>},
};

}  // namespace

base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(const MechanismOptions& options) {
  for (const auto& [name, create] : kMechanisms) {
    if (name == options.name) return create(options);
  }
  return base::InvalidArgumentError("mechanism '" + options.name +
                                    "' is not among those that are proven: " + MechanismNames());
}

std::string MechanismNames() {
  std::string names;
  for (const auto& [name, create] : kMechanisms) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace submix::mechanism
