// The precision that trainings have where nobody says one.
#pragma once

#include "submix/decode/precision.h"
#include "submix/train/recipes/precision.h"

namespace submix::workbench {

// bf16 where the processor multiplies it; elsewhere it is several times slower than f32.
inline train::Precision DefaultTrainingPrecision() {
  return decode::ProcessorMultipliesBfloat16() ? train::Precision::kBfloat16
                                               : train::Precision::kFloat32;
}

}  // namespace submix::workbench
