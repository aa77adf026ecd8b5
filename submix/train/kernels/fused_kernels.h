// Loops that libtorch would run as several passes over memory, each as one pass. Floats in, floats
// out; once an instruction set (base/instruction_sets.h).
#pragma once

#include <cstdint>

namespace submix::train {

// Cross-entropy of one row and its gradient. Reads logits [vocab_size] and overwrites them with
// weight * (softmax(logits) - onehot(target)); returns -log softmax(logits)[target]. A negative
// target means "no target": zeros and 0.
double SoftmaxCrossEntropyRow(float* logits, std::int64_t vocab_size, std::int64_t target,
                              float weight);

// x = cap tanh(x / cap).
void SoftCapForward(float* x, float cap, std::int64_t count);
// grad becomes the gradient before the cap; y is what the cap gave.
void SoftCapBackward(const float* y, float cap, float* grad, std::int64_t count);

// y = f(x) * factor. f is gelu_new, GPT-2's tanh form: x * sigmoid(2 sqrt(2/pi) (x + 0.044715
// x^3)), or silu: x * sigmoid(x). factor is null for none. y may be x.
void GeluForward(const float* x, const float* factor, float* y, std::int64_t count);
void SiluForward(const float* x, const float* factor, float* y, std::int64_t count);
// The gradients of x and, if there is one, of factor. They may lie where any input does.
void GeluBackward(const float* x, const float* factor, const float* grad_y, float* grad_x,
                  float* grad_factor, std::int64_t count);
void SiluBackward(const float* x, const float* factor, const float* grad_y, float* grad_x,
                  float* grad_factor, std::int64_t count);

// A norm of rows: (x - mean) / sqrt(mean of its square + epsilon) * gain + shift, with mean 0
// unless it centres (layer norm).
struct RowNorm {
  const float* gain = nullptr;
  const float* shift = nullptr;  // null: none
  float epsilon = 0;
  bool centres = false;
};
struct RowMoments {
  float mean = 0;
  float inverse_deviation = 0;
};
// y may be x.
RowMoments NormForward(const RowNorm& norm, const float* x, float* y, std::int64_t count);
// Adds the gradient of x to what is in grad_x.
void NormBackward(const RowNorm& norm, RowMoments moments, const float* x, const float* grad_y,
                  float* grad_x, std::int64_t count);
// Adds the gradients of gain and, unless grad_shift is null, of shift.
void NormWeightsBackward(RowMoments moments, const float* x, const float* grad_y, float* grad_gain,
                         float* grad_shift, std::int64_t count);

// Turns `heads` heads that lie one behind the other: element i of a head's first half with element
// i of its second half, by the angle with cosine cosines[i] and sine direction * sines[i].
// Cosines and sines have half_width elements. y may be x.
void TurnHeads(const float* x, const float* cosines, const float* sines, float direction,
               std::int64_t heads, std::int64_t half_width, float* y);

// y += x
void AddFloats(const float* x, float* y, std::int64_t count);

// What bfloat16 numbers are: the upper halves of floats.
void FloatsOfBfloat16(const std::uint16_t* x, float* y, std::int64_t count);
// To the nearest one, ties to even. NaN stays NaN.
void Bfloat16OfFloats(const float* x, std::uint16_t* y, std::int64_t count);

}  // namespace submix::train
