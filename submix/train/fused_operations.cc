#include "submix/train/fused_operations.h"

#include <ATen/Parallel.h>

#include "submix/train/fused_kernels.h"

namespace submix::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kElementGrain = 1 << 14;
constexpr std::int64_t kLossRows = 256;  // rows whose logits exist at a time

class GeluFunction : public torch::autograd::Function<GeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    at::Tensor y = at::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    at::parallel_for(0, x.numel(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      GeluForward(in + begin, out + begin, end - begin);
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor grad_y = grads[0].contiguous();
    at::Tensor grad_x = at::empty_like(x);
    at::parallel_for(0, x.numel(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      GeluBackward(x.data_ptr<float>() + begin, grad_y.data_ptr<float>() + begin,
                   grad_x.data_ptr<float>() + begin, end - begin);
    });
    return {grad_x};
  }
};

// Logits [n, V] float32 become row gradients; losses[i] are the rows' losses.
void LossAndGradient(const at::Tensor& logits, const std::int64_t* targets, const float* weights,
                     float* losses) {
  const std::int64_t vocab_size = logits.size(1);
  float* values = logits.data_ptr<float>();
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      losses[i] = static_cast<float>(
          SoftmaxCrossEntropyRow(values + i * vocab_size, vocab_size, targets[i], weights[i]));
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
    at::Tensor buffer = at::empty({std::min(rows, kLossRows), unembedding.size(0)},
                                  hidden.options());
    for (std::int64_t begin = 0; begin < rows; begin += kLossRows) {
      const std::int64_t count = std::min(kLossRows, rows - begin);
      const at::Tensor input = hidden.narrow(0, begin, count);
      at::Tensor logits = buffer.narrow(0, 0, count);
      at::mm_out(logits, input, unembedding.t());
      logits = logits.to(torch::kFloat);
      LossAndGradient(logits, targets.data_ptr<std::int64_t>() + begin,
                      row_weights.data_ptr<float>() + begin, losses.data_ptr<float>() + begin);
      logits = logits.to(hidden.scalar_type());
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

}  // namespace

at::Tensor Gelu(const at::Tensor& x) {
  if (x.scalar_type() != torch::kFloat) return at::gelu(x, "tanh");
  return GeluFunction::apply(x.contiguous());
}

namespace {

// Few rows a member: a batched product would cost a library call for each member.
constexpr std::int64_t kFewRows = 16;

at::Tensor AdaptedLinearOfFewRows(const at::Tensor& x, const LinearWeights& base,
                                  const LoraFactors& factors) {
  at::Tensor y = at::addmm(base.bias, x, base.weight);
  const LowRankShape shape = {
      .inputs = x.size(1), .outputs = y.size(1), .rank = factors.a.size(1)};
  const std::int64_t rows = x.size(0) / factors.a.size(0);
  const float* in = x.data_ptr<float>();
  const float* a = factors.a.data_ptr<float>();
  const float* b = factors.b.data_ptr<float>();
  float* out = y.data_ptr<float>();
  at::parallel_for(0, x.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t group = i / rows;
      AddLowRank(shape, in + i * shape.inputs, a + group * shape.rank * shape.inputs,
                 b + group * shape.rank * shape.outputs, out + i * shape.outputs);
    }
  });
  return y;
}

}  // namespace

at::Tensor AdaptedLinear(const at::Tensor& x, const LinearWeights& base, const LoraFactors& factors,
                         double scaling) {
  const at::ScalarType type = x.scalar_type();
  const std::int64_t groups = factors.a.size(0);
  if (!at::GradMode::is_enabled() && type == torch::kFloat && x.size(0) <= kFewRows * groups &&
      scaling == 1 && factors.b.is_contiguous()) {
    return AdaptedLinearOfFewRows(x.contiguous(), base, factors);
  }
  const at::Tensor grouped = x.view({groups, -1, x.size(1)});
  const at::Tensor low = at::bmm(grouped, factors.a.to(type).transpose(1, 2));
  const at::Tensor y = at::addmm(base.bias, x, base.weight);
  return at::baddbmm(y.view({groups, -1, y.size(1)}), low, factors.b.to(type), /*beta=*/1, scaling)
      .view({-1, y.size(1)});
}

CrossEntropy UnembeddingCrossEntropy(const at::Tensor& hidden, const at::Tensor& unembedding,
                                     const at::Tensor& targets, const at::Tensor& row_weights) {
  const variable_list results =
      CrossEntropyFunction::apply(hidden, unembedding, targets, row_weights);
  return {results[0], results[1]};
}

}  // namespace submix::train
