// Models that run in one batch: one set of weights and the adapters over it. The public model and
// all LoRA members are one bank; every member that is a whole model is a bank of its own.
// Internal: includes torch.
#pragma once

#include <vector>

#include <torch/types.h>

#include "submix/train/models/gpt_weights.h"
#include "submix/train/models/lora_stack.h"

namespace submix::train {

struct ModelBank {
  GptWeights weights;
  LoraStack adapters;              // G groups
  int first_adapted_layer = 0;     // below it all groups are equal and computed once
  std::vector<std::int64_t> rows;  // [G], the predictor's row of each group

  // Groups that are computed at `layer`: 1 or G.
  int GroupsAt(int layer) const { return layer < first_adapted_layer ? 1 : adapters.groups; }
};

// A bank of the weights alone: one group, nothing adapted.
ModelBank BankOfOne(GptWeights weights, std::int64_t row);

// The adapters of groups [begin, begin + count), as views.
LoraStack SliceGroups(const LoraStack& stack, int begin, int count);

// [N, C] of one group repeated for G groups: [G * N, C].
at::Tensor RepeatForGroups(const at::Tensor& x, int groups);

}  // namespace submix::train
