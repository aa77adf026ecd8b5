// What this machine can do at most: the yardsticks of decoding.
#pragma once

#include "submix/decode/precision.h"

namespace submix {

// Bytes a second at which `threads` threads together read memory that no cache holds.
double MeasureBandwidth(int threads);

// Multiplications and additions a second (two for one of each) of decode's own path for products of
// this precision on large matrices, all threads together.
double MeasurePeak(decode::Precision precision, int threads);

}  // namespace submix
