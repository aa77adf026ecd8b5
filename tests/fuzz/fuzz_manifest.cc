#include "submix/base/check.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/training_cost.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

void FuzzTrainingCost(std::string_view input) {
  static const FuzzedDirectory directory;
  directory.Put(ensemble::kTrainingCostFile, input);
  const auto cost = ensemble::LoadTrainingCost(directory.path());
  if (!cost.ok()) return;
  SUBMIX_CHECK(cost->has_value(), "a file that is there says what it cost");
  directory.Put(ensemble::kTrainingCostFile, ensemble::TrainingCostJson(**cost, 1, 1e-6));
  const auto again = ensemble::LoadTrainingCost(directory.path());
  SUBMIX_CHECK(again.ok() && again->has_value(), "what was read can be written");
  SUBMIX_CHECK((*again)->mechanism == (*cost)->mechanism && (*again)->steps == (*cost)->steps &&
                   (*again)->noise_multiplier == (*cost)->noise_multiplier &&
                   (*again)->sampling_probability == (*cost)->sampling_probability &&
                   (*again)->unit_is_user == (*cost)->unit_is_user,
               "and reads as the same");
}

}  // namespace

void FuzzManifest(std::string_view input) {
  FuzzTrainingCost(input);
  static const FuzzedDirectory directory;
  directory.Put("manifest.json", input);
  const auto manifest = ensemble::LoadManifest(directory.path());
  if (!manifest.ok()) return;
  SUBMIX_CHECK(std::ssize(manifest->members) == (manifest->external ? 0 : manifest->num_members()),
               "every part has its members, here or elsewhere");
  SUBMIX_CHECK(ensemble::SaveManifest(*manifest, directory.path()).ok(),
               "what was read can be written");
  const auto again = ensemble::LoadManifest(directory.path());
  SUBMIX_CHECK(again.ok() && ensemble::EnsembleFingerprint(*again) ==
                                 ensemble::EnsembleFingerprint(*manifest),
               "and reads as the same");
}

}  // namespace submix::fuzz
