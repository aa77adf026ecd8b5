#include "submix/train/models/fused_operations.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "submix/train/numerics/causal_attention_kernel.h"
#include "submix/train/numerics/fused_kernels.h"

namespace submix::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kElementGrain = 1 << 14;
constexpr std::int64_t kLossRows = 256;  // rows whose logits exist at a time

// Elements that are widened together: a few arrays of this size stay in the first-level cache.
constexpr std::int64_t kWidenedElements = 1024;

const std::uint16_t* Halves(const at::Tensor& x) {
  return reinterpret_cast<const std::uint16_t*>(x.data_ptr<at::BFloat16>());
}
std::uint16_t* MutableHalves(at::Tensor& x) {
  return reinterpret_cast<std::uint16_t*>(x.data_ptr<at::BFloat16>());
}

void ReadFloats(const at::Tensor& x, std::int64_t begin, std::int64_t count, float* floats) {
  if (x.scalar_type() == torch::kFloat) {
    std::copy_n(x.data_ptr<float>() + begin, count, floats);
  } else {
    FloatsOfBfloat16(Halves(x) + begin, floats, count);
  }
}

void WriteFloats(const float* floats, std::int64_t begin, std::int64_t count, at::Tensor& y) {
  if (y.scalar_type() == torch::kFloat) {
    std::copy_n(floats, count, y.data_ptr<float>() + begin);
  } else {
    Bfloat16OfFloats(floats, MutableHalves(y) + begin, count);
  }
}

// work(begin, count) for all of `elements`, a few at a time, by all threads.
template <typename Work>
void ForWidenedElements(std::int64_t elements, const Work& work) {
  at::parallel_for(0, elements, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kWidenedElements) {
      work(i, std::min(kWidenedElements, end - i));
    }
  });
}

class GeluFunction : public torch::autograd::Function<GeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    at::Tensor y = at::empty_like(x);
    ForWidenedElements(x.numel(), [&](std::int64_t begin, std::int64_t count) {
      std::array<float, kWidenedElements> values;
      ReadFloats(x, begin, count, values.data());
      GeluForward(values.data(), values.data(), count);
      WriteFloats(values.data(), begin, count, y);
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor grad_y = grads[0].contiguous();
    at::Tensor grad_x = at::empty_like(x);
    ForWidenedElements(x.numel(), [&](std::int64_t begin, std::int64_t count) {
      std::array<float, kWidenedElements> values;
      std::array<float, kWidenedElements> grads_of_values;
      ReadFloats(x, begin, count, values.data());
      ReadFloats(grad_y, begin, count, grads_of_values.data());
      GeluBackward(values.data(), grads_of_values.data(), grads_of_values.data(), count);
      WriteFloats(grads_of_values.data(), begin, count, grad_x);
    });
    return {grad_x};
  }
};

// Logits [n, V] become row gradients; losses[i] are the rows' losses.
void LossAndGradient(at::Tensor& logits, const std::int64_t* targets, const float* weights,
                     float* losses) {
  const std::int64_t vocab_size = logits.size(1);
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> row(static_cast<std::size_t>(vocab_size));
    for (std::int64_t i = begin; i < end; ++i) {
      ReadFloats(logits, i * vocab_size, vocab_size, row.data());
      losses[i] = static_cast<float>(
          SoftmaxCrossEntropyRow(row.data(), vocab_size, targets[i], weights[i]));
      WriteFloats(row.data(), i * vocab_size, vocab_size, logits);
    }
  });
}

class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden,
                               const at::Tensor& unembedding, const at::Tensor& targets,
                               const at::Tensor& row_weights) {
    const std::int64_t rows = hidden.size(0);
    const bool needs_weight_grad = unembedding.requires_grad();
    at::Tensor losses = at::empty({rows}, torch::kFloat);
    at::Tensor grad_hidden = at::empty_like(hidden);
    at::Tensor grad_unembedding =
        needs_weight_grad ? at::zeros_like(unembedding, torch::kFloat) : at::Tensor();
    at::Tensor buffer =
        at::empty({std::min(rows, kLossRows), unembedding.size(0)}, hidden.options());
    for (std::int64_t begin = 0; begin < rows; begin += kLossRows) {
      const std::int64_t count = std::min(kLossRows, rows - begin);
      const at::Tensor input = hidden.narrow(0, begin, count);
      at::Tensor logits = buffer.narrow(0, 0, count);
      at::mm_out(logits, input, unembedding.t());
      LossAndGradient(logits, targets.data_ptr<std::int64_t>() + begin,
                      row_weights.data_ptr<float>() + begin, losses.data_ptr<float>() + begin);
      at::Tensor grad = grad_hidden.narrow(0, begin, count);
      at::mm_out(grad, logits, unembedding);
      if (needs_weight_grad) AccumulateWeightGrad(grad_unembedding, logits, input);
    }
    context->save_for_backward({grad_hidden, grad_unembedding});
    context->mark_non_differentiable({losses});
    return {at::dot(losses, row_weights), losses};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor scale = grads[0];
    at::Tensor grad_unembedding = saved[1];
    if (grad_unembedding.defined()) {
      grad_unembedding = (grad_unembedding * scale).to(saved[0].scalar_type());
    }
    return {saved[0] * scale.to(saved[0].scalar_type()), grad_unembedding, at::Tensor(),
            at::Tensor()};
  }

 private:
  static void AccumulateWeightGrad(at::Tensor& total, const at::Tensor& grad_logits,
                                   const at::Tensor& input) {
    if (grad_logits.scalar_type() == total.scalar_type()) {
      total.addmm_(grad_logits.t(), input);
    } else {
      total.add_(at::mm(grad_logits.t(), input));
    }
  }
};

// x W + bias + scaling * (x A^T) B of G groups, with W and bias frozen.
class AdaptedLinearFunction : public torch::autograd::Function<AdaptedLinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& a, const at::Tensor& b,
                            double scaling) {
    const at::Tensor typed_a = a.to(x.scalar_type());
    const at::Tensor typed_b = b.to(x.scalar_type());
    const at::Tensor low = at::bmm(Grouped(x, a), typed_a.transpose(1, 2));
    at::Tensor y = at::addmm(bias, x, weight);
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

// All rows and heads of one batch.
struct AttentionShape {
  AttentionShape(const at::Tensor& qkv, std::int64_t row_positions, std::int64_t heads)
      : positions(row_positions),
        attention_heads(heads),
        rows(qkv.size(0) / row_positions),
        width(qkv.size(1) / 3),
        head_width(width / heads) {}

  // `index` counts rows * attention_heads.
  std::int64_t InputOffset(std::int64_t index) const {
    return index / attention_heads * positions * 3 * width + index % attention_heads * head_width;
  }
  std::int64_t OutputOffset(std::int64_t index) const {
    return index / attention_heads * positions * width + index % attention_heads * head_width;
  }
  CausalHead Head(const float* qkv, std::int64_t index) const {
    const float* q = qkv + InputOffset(index);
    return {.q = q,
            .k = q + width,
            .v = q + 2 * width,
            .stride = 3 * width,
            .output_stride = width,
            .positions = positions,
            .head_width = head_width};
  }

  std::int64_t positions;
  std::int64_t attention_heads;
  std::int64_t rows;
  std::int64_t width;
  std::int64_t head_width;
};

class CausalAttentionFunction : public torch::autograd::Function<CausalAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv, std::int64_t positions,
                            std::int64_t attention_heads) {
    const AttentionShape shape(qkv, positions, attention_heads);
    at::Tensor output = at::empty({qkv.size(0), shape.width}, qkv.options());
    at::Tensor log_sums = at::empty({shape.rows * attention_heads, positions}, qkv.options());
    const float* in = qkv.data_ptr<float>();
    float* out = output.data_ptr<float>();
    float* sums = log_sums.data_ptr<float>();
    at::parallel_for(0, shape.rows * attention_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> scratch(CausalForwardScratch(positions, shape.head_width));
      for (std::int64_t i = begin; i < end; ++i) {
        CausalAttentionForward(shape.Head(in, i), out + shape.OutputOffset(i), sums + i * positions,
                               scratch.data());
      }
    });
    context->save_for_backward({qkv, output, log_sums});
    context->saved_data["positions"] = positions;
    context->saved_data["attention_heads"] = attention_heads;
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const AttentionShape shape(saved[0], context->saved_data["positions"].toInt(),
                               context->saved_data["attention_heads"].toInt());
    const at::Tensor grad_output = grads[0].contiguous();
    at::Tensor grad_qkv = at::empty_like(saved[0]);
    const float* in = saved[0].data_ptr<float>();
    const float* out = saved[1].data_ptr<float>();
    const float* sums = saved[2].data_ptr<float>();
    const float* grad_out = grad_output.data_ptr<float>();
    float* grad_in = grad_qkv.data_ptr<float>();
    const auto attend = [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> scratch(CausalBackwardScratch(shape.positions, shape.head_width));
      for (std::int64_t i = begin; i < end; ++i) {
        float* grad_q = grad_in + shape.InputOffset(i);
        CausalAttentionBackward(shape.Head(in, i),
                                {.o = out + shape.OutputOffset(i),
                                 .log_sums = sums + i * shape.positions,
                                 .grad_o = grad_out + shape.OutputOffset(i),
                                 .grad_q = grad_q,
                                 .grad_k = grad_q + shape.width,
                                 .grad_v = grad_q + 2 * shape.width},
                                scratch.data());
      }
    };
    at::parallel_for(0, shape.rows * shape.attention_heads, 1, attend);
    return {grad_qkv, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor Gelu(const at::Tensor& x) { return GeluFunction::apply(x.contiguous()); }

at::Tensor AdaptedLinear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const LoraFactors& factors, double scaling) {
  return AdaptedLinearFunction::apply(x.contiguous(), weight, bias, factors.a, factors.b, scaling);
}

at::Tensor CausalAttention(const at::Tensor& qkv, std::int64_t positions,
                           std::int64_t attention_heads) {
  return CausalAttentionFunction::apply(qkv.to(torch::kFloat).contiguous(), positions,
                                        attention_heads)
      .to(qkv.scalar_type());
}

CrossEntropy UnembeddingCrossEntropy(const at::Tensor& hidden, const at::Tensor& unembedding,
                                     const at::Tensor& targets, const at::Tensor& row_weights) {
  const variable_list results =
      CrossEntropyFunction::apply(hidden, unembedding, targets, row_weights);
  return {results[0], results[1]};
}

}  // namespace submix::train
