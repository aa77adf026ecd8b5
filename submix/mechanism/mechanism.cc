#include "submix/mechanism/mechanism.h"

#include "submix/base/check.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/submix.h"

namespace submix::mechanism {
namespace {

// Every mechanism's Create returns its own type.
template <typename T>
base::StatusOr<std::unique_ptr<Mechanism>> Create(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(std::unique_ptr<T> mechanism, T::Create(options));
  return std::unique_ptr<Mechanism>(std::move(mechanism));
}

}  // namespace

std::vector<accounting::FixedNats> Proposal::PaidCharges(const std::vector<bool>& paid) const {
  SUBMIX_CHECK(paid.size() == charges_.size(), "who paid: one answer a part");
  std::vector<accounting::FixedNats> result(charges_.size());
  for (std::size_t part = 0; part < result.size(); ++part) {
    if (paid[part]) result[part] = charges_[part];
  }
  return result;
}

base::StatusOr<std::unique_ptr<Mechanism>> MakeMechanism(std::string_view name,
                                                         const MechanismOptions& options) {
  if (name == kFilteredSubmixName) return Create<FilteredSubmix>(options);
  if (name == kSubmixName) return Create<Submix>(options);
  return base::InvalidArgumentError("mechanism '" + std::string(name) + "' is unknown; known are " +
                                    std::string(kFilteredSubmixName) + " and " +
                                    std::string(kSubmixName));
}

}  // namespace submix::mechanism
