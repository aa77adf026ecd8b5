// The Euclidean norm of many numbers.
#pragma once

#include <span>

namespace submix::train {

// Summed in double, the same on every machine.
double VectorNorm(std::span<const float> numbers);

// Whether each of the numbers is.
bool AreFinite(std::span<const float> numbers);

}  // namespace submix::train
