// Weights as integers of few bits in groups, symmetric: what of a weight an integer cannot say is
// lost once, when it is packed.
#pragma once

#include <span>

#include "submix/decode/kernels.h"

namespace submix::decode {

// Column `column` < kPanelColumns of a group; values.size() <= kGroupInputs, zeros behind them.
// With 8 bits the integers are within 127; with 4 within -8 and 7, and of some scales the one whose
// squared errors are least is taken. A value that is not finite makes its whole column of the group
// NaN.
template <int kBits>
void StoreColumn(std::span<const float> values, int column, IntegerGroup<kBits>& group);

}  // namespace submix::decode
