// The precision of matrix products; everything that is summed over many terms stays float32.
#pragma once

namespace submix::train {

// kBfloat16 pays off on processors with AMX (or AVX-512 bf16); master weights stay float32.
enum class Precision { kFloat32, kBfloat16 };

}  // namespace submix::train
