#include "submix/train/models/row_operations.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "submix/train/models/float_access.h"

namespace submix::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kElementGrain = 1 << 14;

// Elements that are widened together: a few arrays of this size stay in the first-level cache.
constexpr std::int64_t kWidenedElements = 1024;
using WidenedElements = std::array<float, kWidenedElements>;

// work(begin, count) for all of `elements`, a few at a time, by all threads.
template <typename Work>
void ForWidenedElements(std::int64_t elements, const Work& work) {
  at::parallel_for(0, elements, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kWidenedElements) {
      work(i, std::min(kWidenedElements, end - i));
    }
  });
}

class ActivationFunction : public torch::autograd::Function<ActivationFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::optional<at::Tensor>& optional_factor, bool is_silu) {
    const at::Tensor factor = optional_factor.value_or(at::Tensor());
    context->save_for_backward({x, factor});
    context->saved_data["is_silu"] = is_silu;
    at::Tensor y = at::empty_like(x);
    const auto activate = is_silu ? SiluForward : GeluForward;
    ForWidenedElements(x.numel(), [&](std::int64_t begin, std::int64_t count) {
      WidenedElements values, factors;
      ReadFloats(x, begin, count, values.data());
      if (factor.defined()) ReadFloats(factor, begin, count, factors.data());
      activate(values.data(), factor.defined() ? factors.data() : nullptr, values.data(), count);
      WriteFloats(values.data(), begin, count, y);
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& factor = saved[1];
    const at::Tensor grad_y = grads[0].contiguous();
    const at::Tensor grad_x = at::empty_like(x);
    const at::Tensor grad_factor = factor.defined() ? at::empty_like(factor) : at::Tensor();
    const auto differentiate =
        context->saved_data["is_silu"].toBool() ? SiluBackward : GeluBackward;
    ForWidenedElements(x.numel(), [&](std::int64_t begin, std::int64_t count) {
      WidenedElements values, factors, slopes;
      ReadFloats(x, begin, count, values.data());
      ReadFloats(grad_y, begin, count, slopes.data());
      if (factor.defined()) ReadFloats(factor, begin, count, factors.data());
      float* const its_factors = factor.defined() ? factors.data() : nullptr;
      differentiate(values.data(), its_factors, slopes.data(), values.data(), its_factors, count);
      WriteFloats(values.data(), begin, count, grad_x);
      if (factor.defined()) WriteFloats(factors.data(), begin, count, grad_factor);
    });
    return {grad_x, grad_factor, at::Tensor()};
  }
};

// Rows whose gradients of gain and shift are added up first, so that no sum depends on the number
// of threads.
constexpr std::int64_t kNormRows = 32;

// work(chunk, begin, end) for all rows, by all threads.
template <typename Work>
void ForNormRows(std::int64_t rows, const Work& work) {
  at::parallel_for(0, (rows + kNormRows - 1) / kNormRows, 1,
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t chunk = first; chunk < last; ++chunk) {
                       work(chunk, chunk * kNormRows, std::min(rows, (chunk + 1) * kNormRows));
                     }
                   });
}

RowNorm RowNormOf(const at::Tensor& gain, const at::Tensor& shift, double epsilon, bool centres) {
  return {.gain = gain.data_ptr<float>(),
          .shift = shift.defined() ? shift.data_ptr<float>() : nullptr,
          .epsilon = static_cast<float>(epsilon),
          .centres = centres};
}

// The norms of x or, if y is defined, of x + y; that sum is the second output.
class NormFunction : public torch::autograd::Function<NormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const c10::optional<at::Tensor>& optional_y, const at::Tensor& gain,
                               const c10::optional<at::Tensor>& optional_shift, double epsilon,
                               bool centres, at::ScalarType type) {
    const at::Tensor y = optional_y.value_or(at::Tensor());
    const at::Tensor shift = optional_shift.value_or(at::Tensor());
    const std::int64_t width = x.size(-1);
    const std::int64_t rows = x.numel() / width;
    const at::Tensor sum = y.defined() ? at::empty_like(x) : at::Tensor();
    const at::Tensor normed = at::empty(x.sizes(), x.options().dtype(type));
    const at::Tensor moments = at::empty({rows, 2}, gain.options());
    const RowNorm norm = RowNormOf(gain, shift, epsilon, centres);
    ForNormRows(rows, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(width));
      for (std::int64_t i = begin; i < end; ++i) {
        const float* values = FloatsOrWidened(x, i * width, width, row.data());
        if (y.defined()) {
          float* const total = sum.data_ptr<float>() + i * width;
          ReadFloats(y, i * width, width, total);
          AddFloats(values, total, width);
          values = total;
        }
        const RowMoments its = NormForward(norm, values, row.data(), width);
        std::copy_n(std::array{its.mean, its.inverse_deviation}.data(), 2,
                    moments.data_ptr<float>() + 2 * i);
        WriteFloats(row.data(), i * width, width, normed);
      }
    });
    context->save_for_backward({y.defined() ? sum : x, gain, shift, moments});
    context->saved_data["centres"] = centres;
    context->saved_data["trains_weights"] = gain.requires_grad();
    context->saved_data["type_of_y"] =
        static_cast<std::int64_t>(y.defined() ? y.scalar_type() : torch::kFloat);
    return y.defined() ? variable_list{normed, sum} : variable_list{normed};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const bool adds = grads.size() == 2;
    const at::Tensor grad_normed = grads[0].contiguous();
    const at::Tensor grad_sum = adds ? grads[1].contiguous() : at::Tensor();
    const at::Tensor grad_x = at::empty_like(x);
    const auto type_of_y = static_cast<at::ScalarType>(context->saved_data["type_of_y"].toInt());
    const at::Tensor grad_y =
        adds ? (type_of_y == torch::kFloat ? grad_x
                                           : at::empty(x.sizes(), x.options().dtype(type_of_y)))
             : at::Tensor();
    const std::int64_t width = x.size(-1);
    const std::int64_t rows = x.numel() / width;
    const float* const moments = saved[3].data_ptr<float>();
    const RowNorm norm =
        RowNormOf(saved[1], saved[2], /*epsilon=*/0, context->saved_data["centres"].toBool());
    WeightGrads weight_grads(context->saved_data["trains_weights"].toBool(), saved[2].defined(),
                             rows, width);
    ForNormRows(rows, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      const auto size = static_cast<std::size_t>(width);
      std::vector<float> widened(size), widened_grad(size), total(size);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i * width;
        const RowMoments its = {moments[2 * i], moments[2 * i + 1]};
        const float* const values = FloatsOrWidened(x, first, width, widened.data());
        const float* const grad = FloatsOrWidened(grad_normed, first, width, widened_grad.data());
        if (adds) ReadFloats(grad_sum, first, width, total.data());
        if (!adds) std::ranges::fill(total, 0.0f);
        NormBackward(norm, its, values, grad, total.data(), width);
        WriteFloats(total.data(), first, width, grad_x);
        if (adds && !grad_y.is_same(grad_x)) WriteFloats(total.data(), first, width, grad_y);
        weight_grads.Add(chunk, its, values, grad);
      }
    });
    return {grad_x,       grad_y,       weight_grads.gain(), weight_grads.shift(),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  // Gradients of gain and shift, [chunks, C] each, if wanted.
  class WeightGrads {
   public:
    WeightGrads(bool is_wanted, bool has_shift, std::int64_t rows, std::int64_t width)
        : width_(width) {
      const std::int64_t chunks = (rows + kNormRows - 1) / kNormRows;
      if (is_wanted) gains_ = at::zeros({chunks, width});
      if (is_wanted && has_shift) shifts_ = at::zeros({chunks, width});
    }

    void Add(std::int64_t chunk, RowMoments moments, const float* x, const float* grad) const {
      if (!gains_.defined()) return;
      NormWeightsBackward(moments, x, grad, gains_.data_ptr<float>() + chunk * width_,
                          shifts_.defined() ? shifts_.data_ptr<float>() + chunk * width_ : nullptr,
                          width_);
    }

    at::Tensor gain() const { return gains_.defined() ? gains_.sum(0) : at::Tensor(); }
    at::Tensor shift() const { return shifts_.defined() ? shifts_.sum(0) : at::Tensor(); }

   private:
    const std::int64_t width_;
    at::Tensor gains_;
    at::Tensor shifts_;
  };
};

constexpr std::int64_t kJoinedRows = 32;  // the least that a thread takes

class JoinHeadsFunction : public torch::autograd::Function<JoinHeadsFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& keys, const at::Tensor& values,
                            const c10::optional<at::Tensor>& optional_turns) {
    const at::Tensor turns = optional_turns.value_or(at::Tensor());
    const std::array<at::Tensor, 3> parts = {queries, keys, values};
    const std::int64_t rows = queries.size(0);
    const std::int64_t width = queries.size(1) + keys.size(1) + values.size(1);
    const at::Tensor joined = at::empty({rows, width}, queries.options().dtype(torch::kFloat));
    at::parallel_for(0, rows, kJoinedRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* const row = joined.data_ptr<float>() + i * width;
        float* next = row;
        for (const at::Tensor& part : parts) {
          ReadFloats(part, i * part.size(1), part.size(1), next);
          next += part.size(1);
        }
        Turn(turns, i, queries.size(1) + keys.size(1), 1, row);
      }
    });
    context->save_for_backward({turns});
    std::vector<std::int64_t> widths, types;
    for (const at::Tensor& part : parts) {
      widths.push_back(part.size(1));
      types.push_back(static_cast<std::int64_t>(part.scalar_type()));
    }
    context->saved_data["widths"] = widths;
    context->saved_data["types"] = types;
    return joined;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const at::Tensor turns = context->get_saved_variables()[0];
    const std::vector<std::int64_t> widths = context->saved_data["widths"].toIntVector();
    const std::vector<std::int64_t> types = context->saved_data["types"].toIntVector();
    const at::Tensor grad = grads[0].contiguous();
    const std::int64_t rows = grad.size(0);
    const std::int64_t width = grad.size(1);
    variable_list parts;
    for (std::size_t part = 0; part < widths.size(); ++part) {
      parts.push_back(at::empty({rows, widths[part]},
                                grad.options().dtype(static_cast<at::ScalarType>(types[part]))));
    }
    at::parallel_for(0, rows, kJoinedRows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(width));
      for (std::int64_t i = begin; i < end; ++i) {
        ReadFloats(grad, i * width, width, row.data());
        Turn(turns, i, widths[0] + widths[1], -1, row.data());
        const float* next = row.data();
        for (const at::Tensor& part : parts) {
          WriteFloats(next, i * part.size(1), part.size(1), part);
          next += part.size(1);
        }
      }
    });
    parts.emplace_back();
    return parts;
  }

 private:
  // The first `width` elements of row number i, in place.
  static void Turn(const at::Tensor& turns, std::int64_t i, std::int64_t width, float direction,
                   float* row) {
    if (!turns.defined()) return;
    const std::int64_t head_width = turns.size(1);
    const float* const cosines = turns.data_ptr<float>() + i % turns.size(0) * head_width;
    TurnHeads(row, cosines, cosines + head_width / 2, direction, width / head_width, head_width / 2,
              row);
  }
};

}  // namespace

at::Tensor Activate(RowActivation activation, const at::Tensor& x,
                    const c10::optional<at::Tensor>& factor) {
  return ActivationFunction::apply(x, factor, activation == RowActivation::kSilu);
}

at::Tensor NormRows(const at::Tensor& x, const NormWeights& weights, at::ScalarType type) {
  return NormFunction::apply(x, c10::optional<at::Tensor>(), weights.gain, weights.shift,
                             weights.epsilon, weights.centres, type)[0];
}

SumAndNorm AddAndNormRows(const at::Tensor& x, const at::Tensor& y, const NormWeights& weights,
                          at::ScalarType type) {
  const variable_list outputs =
      NormFunction::apply(x, c10::optional<at::Tensor>(y), weights.gain, weights.shift,
                          weights.epsilon, weights.centres, type);
  return {.sum = outputs[1], .normed = outputs[0]};
}

at::Tensor JoinHeads(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                     const c10::optional<at::Tensor>& turns) {
  return JoinHeadsFunction::apply(queries, keys, values, turns);
}

}  // namespace submix::train
