#include "submix/mechanism/mechanism.h"

#include <utility>

#include "submix/base/check.h"
#include "submix/mechanism/adapmixed.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/dp_decoding.h"
#include "submix/mechanism/ensemble_mean.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/gnmax.h"
#include "submix/mechanism/pmixed.h"
#include "submix/mechanism/public_model.h"
#include "submix/mechanism/sample_and_aggregate.h"
#include "submix/mechanism/screened.h"
#include "submix/mechanism/submix.h"

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
        {kSubmixName, Create<Submix>},
        {kDClipName, Create<DClip>},
        {kFilteredDClipName, Create<FilteredDClip>},
        {kScreenedName, Create<Screened>},
        {kPMixedName, Create<PMixed>},
        {kAdaPMixedName, Create<AdaPMixed>},
        {kSampleAndAggregateName, Create<SampleAndAggregate>},
        {kGnmaxName, Create<Gnmax>},
        {kDpDecodingName, Create<DpDecoding>},
        {kPublicModelName, Create<PublicModel>},
        {kEnsembleMeanName, Create<EnsembleMean>},
};

}  // namespace

std::vector<accounting::FixedNats> Proposal::PaidCharges(const std::vector<bool>& paid) const {
  SUBMIX_CHECK(paid.size() == charges_.size(), "who paid: one answer a part");
  std::vector<accounting::FixedNats> result(charges_.size());
  for (std::size_t part = 0; part < result.size(); ++part) {
    if (paid[part]) result[part] = charges_[part];
  }
  return result;
}

PrivateScreen Proposal::Screen(const std::vector<bool>&) && {
  SUBMIX_CHECK(false, "this proposal leads to a mixture");
}

base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(const MechanismOptions& options) {
  for (const auto& [name, create] : kMechanisms) {
    if (name == options.name) return create(options);
  }
  return base::InvalidArgumentError("mechanism '" + options.name + "' is unknown; known are " +
                                    MechanismNames());
}

std::string MechanismNames() {
  std::string names;
  for (const auto& [name, create] : kMechanisms) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace submix::mechanism
