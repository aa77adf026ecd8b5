#include "submix/base/check.h"
#include "submix/model/safetensors.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {

void FuzzSafetensors(std::string_view input) {
  static const FuzzedDirectory directory;
  const auto file = model::SafetensorsFile::Open(directory.Put("model.safetensors", input));
  if (!file.ok()) return;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : (*file)->tensors()) {
    bytes += tensor.bytes.size();
    const auto values = (*file)->Read(name, tensor.shape);
    if (tensor.dtype == model::Dtype::kOther) {
      SUBMIX_CHECK(!values.ok(), "a tensor of another type is not read");
      continue;
    }
    SUBMIX_CHECK(values.ok(), "a tensor that is listed can be read");
    SUBMIX_CHECK(std::ssize(*values) == tensor.num_elements(), "a shape counts its elements");
    (void)model::IsFinite(tensor);
  }
  SUBMIX_CHECK(bytes <= input.size(), "tensors do not overlap");
}

}  // namespace submix::fuzz
