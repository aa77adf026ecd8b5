#include "submix/train/models/fused_operations.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "submix/train/kernels/causal_attention_kernel.h"
#include "submix/train/kernels/fused_kernels.h"
#include "submix/train/models/float_access.h"

namespace submix::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kLossRows = 256;  // rows whose logits exist at a time
// Tokens whose logits are multiplied at a time: with their rows of the unembedding they stay in the
// second-level cache.
constexpr std::int64_t kLossColumns = 2048;

// Logits of n rows for some neighbouring tokens, [n, columns].
struct LogitBlock {
  std::int64_t begin = 0;  // the first token
  at::Tensor logits;
  std::int64_t columns() const { return logits.size(1); }

  // Its rows of the unembedding.
  at::Tensor Of(const at::Tensor& unembedding) const {
    return unembedding.narrow(0, begin, columns());
  }
};

// A flat buffer as blocks of all tokens.
std::vector<LogitBlock> CutLogits(const at::Tensor& buffer, std::int64_t rows,
                                  std::int64_t vocab_size) {
  std::vector<LogitBlock> blocks;
  for (std::int64_t begin = 0; begin < vocab_size; begin += kLossColumns) {
    const std::int64_t columns = std::min(kLossColumns, vocab_size - begin);
    const at::Tensor flat = buffer.narrow(0, rows * begin, rows * columns);
    blocks.push_back({.begin = begin, .logits = flat.view({rows, columns})});
  }
  return blocks;
}

// Logits become row gradients; losses[i] are the rows' losses.
void LossAndGradient(const std::vector<LogitBlock>& blocks, float soft_cap,
                     const std::int64_t* targets, const float* weights, float* losses) {
  const std::int64_t vocab_size = blocks.back().begin + blocks.back().columns();
  at::parallel_for(0, blocks[0].logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> row(static_cast<std::size_t>(vocab_size));
    std::vector<float> capped(soft_cap > 0 ? row.size() : 0);
    for (std::int64_t i = begin; i < end; ++i) {
      for (const LogitBlock& block : blocks) {
        ReadFloats(block.logits, i * block.columns(), block.columns(), row.data() + block.begin);
      }
      if (soft_cap > 0) {
        SoftCapForward(row.data(), soft_cap, vocab_size);
        capped = row;
      }
      losses[i] = static_cast<float>(
          SoftmaxCrossEntropyRow(row.data(), vocab_size, targets[i], weights[i]));
      if (soft_cap > 0) SoftCapBackward(capped.data(), soft_cap, row.data(), vocab_size);
      for (const LogitBlock& block : blocks) {
        WriteFloats(row.data() + block.begin, i * block.columns(), block.columns(), block.logits);
      }
    }
  });
}

// total, float32, += a b
void AddProduct(at::Tensor total, const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == total.scalar_type()) {
    total.addmm_(a, b);
  } else {
    total.add_(at::mm(a, b));
  }
}

class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden,
                            const at::Tensor& unembedding, const at::Tensor& targets,
                            const at::Tensor& row_weights, double soft_cap) {
    const std::int64_t rows = hidden.size(0);
    const std::int64_t vocab_size = unembedding.size(0);
    const bool needs_weight_grad = unembedding.requires_grad();
    at::Tensor losses = at::empty({rows}, torch::kFloat);
    at::Tensor grad_hidden = at::empty_like(hidden);
    at::Tensor grad_unembedding =
        needs_weight_grad ? at::zeros_like(unembedding, torch::kFloat) : at::Tensor();
    const at::Tensor buffer = at::empty({std::min(rows, kLossRows) * vocab_size}, hidden.options());
    for (std::int64_t begin = 0; begin < rows; begin += kLossRows) {
      const std::int64_t count = std::min(kLossRows, rows - begin);
      const at::Tensor input = hidden.narrow(0, begin, count);
      std::vector<LogitBlock> blocks = CutLogits(buffer, count, vocab_size);
      for (LogitBlock& block : blocks) {
        at::mm_out(block.logits, input, block.Of(unembedding).t());
      }
      LossAndGradient(blocks, static_cast<float>(soft_cap),
                      targets.data_ptr<std::int64_t>() + begin,
                      row_weights.data_ptr<float>() + begin, losses.data_ptr<float>() + begin);
      const at::Tensor grad = at::zeros_like(input, torch::kFloat);
      for (const LogitBlock& block : blocks) {
        AddProduct(grad, block.logits, block.Of(unembedding));
        if (needs_weight_grad) {
          AddProduct(block.Of(grad_unembedding), block.logits.t(), input);
        }
      }
      grad_hidden.narrow(0, begin, count).copy_(grad);
    }
    context->save_for_backward({grad_hidden, grad_unembedding});
    return at::dot(losses, row_weights);
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor scale = grads[0];
    at::Tensor grad_unembedding = saved[1];
    if (grad_unembedding.defined()) {
      grad_unembedding = (grad_unembedding * scale).to(saved[0].scalar_type());
    }
    return {saved[0] * scale.to(saved[0].scalar_type()), grad_unembedding, at::Tensor(),
            at::Tensor(), at::Tensor()};
  }
};

// x W + bias + scaling * (x A^T) B of G groups, with W and bias frozen.
class AdaptedLinearFunction : public torch::autograd::Function<AdaptedLinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const c10::optional<at::Tensor>& bias, const at::Tensor& a,
                            const at::Tensor& b, double scaling) {
    const at::Tensor typed_a = a.to(x.scalar_type());
    const at::Tensor typed_b = b.to(x.scalar_type());
    const at::Tensor low = at::bmm(Grouped(x, a), typed_a.transpose(1, 2));
    at::Tensor y = LinearRows(x, weight, bias);
    Grouped(y, a).baddbmm_(low, typed_b, /*beta=*/1, scaling);
    context->save_for_backward({x, weight, typed_a, typed_b, low});
    context->saved_data["scaling"] = scaling;
    // The first adapted layer of a frozen trunk: nobody wants the gradient of x.
    context->saved_data["needs_x"] = x.requires_grad();
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& a = saved[2];
    const double scaling = context->saved_data["scaling"].toDouble();
    const at::Tensor grad_y = grads[0].contiguous();
    const at::Tensor grouped_grad = Grouped(grad_y, a);
    const at::Tensor grad_low = at::bmm(grouped_grad, saved[3].transpose(1, 2)).mul_(scaling);
    const at::Tensor grad_b = at::bmm(saved[4].transpose(1, 2), grouped_grad).mul_(scaling);
    const at::Tensor grad_a = at::bmm(grad_low.transpose(1, 2), Grouped(x, a));
    at::Tensor grad_x;
    if (context->saved_data["needs_x"].toBool()) {
      grad_x = at::mm(grad_y, saved[1].t());
      Grouped(grad_x, a).baddbmm_(grad_low, a);
    }
    return {
        grad_x,      at::Tensor(), at::Tensor(), grad_a.to(torch::kFloat), grad_b.to(torch::kFloat),
        at::Tensor()};
  }

 private:
  // [G * n, width] as [G, n, width], G being that of the factor.
  static at::Tensor Grouped(const at::Tensor& rows, const at::Tensor& factor) {
    return rows.view({factor.size(0), -1, rows.size(1)});
  }
};

// All rows and heads of one batch. A unit is one key-value head of one row.
class AttentionBatch {
 public:
  AttentionBatch(const at::Tensor& qkv, const AttentionShape& shape)
      : shape_(shape),
        rows_(qkv.size(0) / shape.positions),
        width_(qkv.size(1)),
        head_width_(width_ / (shape.query_heads + 2 * shape.key_value_heads)) {}

  std::int64_t units() const { return rows_ * shape_.key_value_heads; }
  std::int64_t queries_a_key() const { return shape_.query_heads / shape_.key_value_heads; }
  std::int64_t head_width() const { return head_width_; }
  std::int64_t output_width() const { return shape_.query_heads * head_width_; }
  std::int64_t num_log_sums() const { return rows_ * shape_.query_heads; }

  // Query head number `query` of a unit.
  std::int64_t QueryHead(std::int64_t unit, std::int64_t query) const {
    return unit % shape_.key_value_heads * queries_a_key() + query;
  }
  std::int64_t QueryOffset(std::int64_t unit, std::int64_t query) const {
    return RowOf(unit) * shape_.positions * width_ + QueryHead(unit, query) * head_width_;
  }
  std::int64_t KeyOffset(std::int64_t unit) const {
    return RowOf(unit) * shape_.positions * width_ +
           (shape_.query_heads + unit % shape_.key_value_heads) * head_width_;
  }
  std::int64_t ValueOffset(std::int64_t unit) const {
    return KeyOffset(unit) + shape_.key_value_heads * head_width_;
  }
  std::int64_t OutputOffset(std::int64_t unit, std::int64_t query) const {
    return RowOf(unit) * shape_.positions * output_width() + QueryHead(unit, query) * head_width_;
  }
  std::int64_t LogSumOffset(std::int64_t unit, std::int64_t query) const {
    return (RowOf(unit) * shape_.query_heads + QueryHead(unit, query)) * shape_.positions;
  }

  CausalHead Head(const float* qkv, std::int64_t unit, std::int64_t query) const {
    return {.q = qkv + QueryOffset(unit, query),
            .k = qkv + KeyOffset(unit),
            .v = qkv + ValueOffset(unit),
            .stride = width_,
            .output_stride = output_width(),
            .positions = shape_.positions,
            .head_width = head_width_,
            .scale = shape_.scale,
            .soft_cap = shape_.soft_cap,
            .window = shape_.window};
  }

 private:
  std::int64_t RowOf(std::int64_t unit) const { return unit / shape_.key_value_heads; }

  const AttentionShape shape_;
  const std::int64_t rows_;
  const std::int64_t width_;  // of qkv
  const std::int64_t head_width_;
};

class CausalAttentionFunction : public torch::autograd::Function<CausalAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv,
                            const AttentionShape& shape) {
    const AttentionBatch batch(qkv, shape);
    at::Tensor output = at::empty({qkv.size(0), batch.output_width()}, qkv.options());
    at::Tensor log_sums = at::empty({batch.num_log_sums(), shape.positions}, qkv.options());
    const float* in = qkv.data_ptr<float>();
    float* out = output.data_ptr<float>();
    float* sums = log_sums.data_ptr<float>();
    const std::int64_t queries = batch.queries_a_key();
    const auto attend = [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> scratch(CausalForwardScratch(shape.positions, batch.head_width()));
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t unit = i / queries;
        const std::int64_t query = i % queries;
        CausalAttentionForward(batch.Head(in, unit, query), out + batch.OutputOffset(unit, query),
                               sums + batch.LogSumOffset(unit, query), scratch.data());
      }
    };
    at::parallel_for(0, batch.units() * queries, 1, attend);
    context->save_for_backward({qkv, output, log_sums});
    context->saved_data["shape"] = std::vector<std::int64_t>{shape.positions, shape.query_heads,
                                                             shape.key_value_heads, shape.window};
    context->saved_data["scale"] = static_cast<double>(shape.scale);
    context->saved_data["soft_cap"] = static_cast<double>(shape.soft_cap);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const AttentionShape shape = SavedShape(context);
    const AttentionBatch batch(saved[0], shape);
    const at::Tensor grad_output = grads[0].contiguous();
    at::Tensor grad_qkv = at::empty_like(saved[0]);
    const float* in = saved[0].data_ptr<float>();
    const float* out = saved[1].data_ptr<float>();
    const float* sums = saved[2].data_ptr<float>();
    const float* grad_out = grad_output.data_ptr<float>();
    float* grad_in = grad_qkv.data_ptr<float>();
    const auto attend = [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> scratch(CausalBackwardScratch(shape.positions, batch.head_width()));
      for (std::int64_t unit = begin; unit < end; ++unit) {
        for (std::int64_t query = 0; query < batch.queries_a_key(); ++query) {
          const std::int64_t offset = batch.OutputOffset(unit, query);
          CausalAttentionBackward(batch.Head(in, unit, query),
                                  {.o = out + offset,
                                   .log_sums = sums + batch.LogSumOffset(unit, query),
                                   .grad_o = grad_out + offset,
                                   .grad_q = grad_in + batch.QueryOffset(unit, query),
                                   .grad_k = grad_in + batch.KeyOffset(unit),
                                   .grad_v = grad_in + batch.ValueOffset(unit),
                                   .adds_to_keys_and_values = query > 0},
                                  scratch.data());
        }
      }
    };
    at::parallel_for(0, batch.units(), 1, attend);
    return {grad_qkv, at::Tensor()};
  }

 private:
  static AttentionShape SavedShape(AutogradContext* context) {
    const std::vector<std::int64_t> sizes = context->saved_data["shape"].toIntVector();
    return {.positions = sizes[0],
            .query_heads = sizes[1],
            .key_value_heads = sizes[2],
            .scale = static_cast<float>(context->saved_data["scale"].toDouble()),
            .soft_cap = static_cast<float>(context->saved_data["soft_cap"].toDouble()),
            .window = sizes[3]};
  }
};

}  // namespace

at::Tensor AdaptedLinear(const at::Tensor& x, const at::Tensor& weight,
                         const c10::optional<at::Tensor>& bias, const LoraFactors& factors,
                         double scaling) {
  return AdaptedLinearFunction::apply(x.contiguous(), weight, bias, factors.a, factors.b, scaling);
}

at::Tensor LinearRows(const at::Tensor& x, const at::Tensor& weight,
                      const c10::optional<at::Tensor>& bias) {
  return bias.has_value() ? at::addmm(*bias, x, weight) : at::mm(x, weight);
}

at::Tensor CausalAttention(const at::Tensor& qkv, const AttentionShape& shape) {
  return CausalAttentionFunction::apply(qkv.to(torch::kFloat).contiguous(), shape)
      .to(qkv.scalar_type());
}

at::Tensor UnembeddingCrossEntropy(const at::Tensor& hidden, const at::Tensor& unembedding,
                                   const at::Tensor& targets, const at::Tensor& row_weights,
                                   double soft_cap) {
  return CrossEntropyFunction::apply(hidden, unembedding, targets, row_weights, soft_cap);
}

}  // namespace submix::train
