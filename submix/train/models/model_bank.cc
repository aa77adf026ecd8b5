#include "submix/train/models/model_bank.h"

namespace submix::train {

ModelBank BankOfOne(GptWeights weights, std::int64_t row) {
  ModelBank bank;
  bank.adapters.groups = 1;
  bank.adapters.layers.resize(static_cast<std::size_t>(weights.config.layers));
  bank.first_adapted_layer = weights.config.layers;
  bank.weights = std::move(weights);
  bank.rows = {row};
  return bank;
}

LoraStack SliceGroups(const LoraStack& stack, int begin, int count) {
  LoraStack slice = stack;
  slice.groups = count;
  for (LayerAdapters& layer : slice.layers) {
    for (std::optional<LoraFactors>& factors : layer) {
      if (!factors.has_value()) continue;
      factors->a = factors->a.narrow(0, begin, count);
      factors->b = factors->b.narrow(0, begin, count);
    }
  }
  return slice;
}

at::Tensor RepeatForGroups(const at::Tensor& x, int groups) {
  if (groups == 1) return x;
  return x.unsqueeze(0).expand({groups, x.size(0), x.size(1)}).reshape({-1, x.size(1)});
}

}  // namespace submix::train
