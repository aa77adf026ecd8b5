// The packed weights of a model: made once from its file, or mapped from a file of packed weights
// that an earlier start has left.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/base/worker_team.h"
#include "submix/decode/matrix_product.h"

namespace submix::decode {

struct PackedWeight {
  const MatrixProduct* product = nullptr;
  WeightSource source;
};

// Immutable, thread-safe.
class PackedWeights {
 public:
  // Packs with all workers, once `check` has passed what it reads from. With a `cache_directory`,
  // maps the file that fits `weights` and the content of the model files, wherever they lie, or
  // leaves one there (base/cache_directory.h); whatever keeps it from doing so only costs the time
  // of packing. A cache file is as trusted as the model file: whoever can write there decides the
  // answers; what is in it has passed the check. Errors: the check's.
  static base::StatusOr<PackedWeights> Load(const std::vector<PackedWeight>& weights,
                                            const std::vector<std::string>& model_files,
                                            const std::string& cache_directory,
                                            const std::function<base::Status()>& check,
                                            base::WorkerTeam& team);

  // The packed form of weights[index].
  const std::byte* data(std::size_t index) const { return begin_.get() + offsets_[index]; }

 private:
  std::vector<std::size_t> offsets_;
  std::shared_ptr<const std::byte> begin_;  // owns the memory or the mapping
};

}  // namespace submix::decode
