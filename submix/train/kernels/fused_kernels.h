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

// y = gelu_new(x), GPT-2's tanh form: x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)). y may
// be x.
void GeluForward(const float* x, float* y, std::int64_t count);
// grad_x = grad_y * gelu_new'(x). grad_x may be grad_y.
void GeluBackward(const float* x, const float* grad_y, float* grad_x, std::int64_t count);

// What bfloat16 numbers are: the upper halves of floats.
void FloatsOfBfloat16(const std::uint16_t* x, float* y, std::int64_t count);
// To the nearest one, ties to even. NaN stays NaN.
void Bfloat16OfFloats(const float* x, std::uint16_t* y, std::int64_t count);

}  // namespace submix::train
