#include "submix/train/fused_kernels.h"

#include <cmath>
#include <cstring>

// One body, three instruction sets; the resolver picks at start-up.
#define SUBMIX_MULTIVERSION \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#define SUBMIX_INLINE inline __attribute__((always_inline))

namespace submix::train {
namespace {

// Sixteen floats, whatever the registers are. Reductions are written out with it, since the
// compiler may not reorder sums by itself.
constexpr int kLanes = 16;
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
typedef std::int32_t IntVec __attribute__((vector_size(kLanes * sizeof(float))));

SUBMIX_INLINE Vec Load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
SUBMIX_INLINE void Store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
SUBMIX_INLINE Vec Splat(float x) { return x - Vec{}; }

SUBMIX_INLINE float Sum(Vec v) {
  float total = 0;
  for (int i = 0; i < kLanes; ++i) total += v[i];
  return total;
}

// e^x to about 1e-7 relative; below -87 it gives e^-87, above 88 e^88. NaN stays NaN.
SUBMIX_INLINE Vec Exp(Vec x) {
  x = x < -87.0f ? Splat(-87.0f) : x;
  x = x > 88.0f ? Splat(88.0f) : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vec n = (x * 1.44269504f + kRound) - kRound;
  const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = Splat(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const IntVec exponent = (__builtin_convertvector(n, IntVec) + 127) << 23;
  Vec scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return p * scale;
}

SUBMIX_INLINE float Dot(const float* x, const float* y, std::int64_t count) {
  Vec sum0{}, sum1{};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    sum0 += Load(x + i) * Load(y + i);
    sum1 += Load(x + i + kLanes) * Load(y + i + kLanes);
  }
  float tail = 0;
  for (; i < count; ++i) tail += x[i] * y[i];
  return Sum(sum0 + sum1) + tail;
}

// y += scale * x
SUBMIX_INLINE void AddScaled(float scale, const float* x, float* y, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(y + i, Load(y + i) + scale * Load(x + i));
  for (; i < count; ++i) y[i] += scale * x[i];
}

SUBMIX_INLINE float Max(const float* x, std::int64_t count) {
  Vec most = Splat(-INFINITY);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec v = Load(x + i);
    most = v > most ? v : most;
  }
  float result = -INFINITY;
  for (int lane = 0; lane < kLanes; ++lane) result = most[lane] > result ? most[lane] : result;
  for (; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

// Fewer than 16 floats as a vector, the rest `fill`.
SUBMIX_INLINE Vec LoadTail(const float* p, std::int64_t count, float fill) {
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = i < count ? p[i] : fill;
  return Load(lanes);
}
SUBMIX_INLINE void StoreTail(float* p, std::int64_t count, Vec v) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
}

// x = e^(x - shift); returns the sum. Rows of 8k words sum in double across vectors of partial sums.
SUBMIX_INLINE float ExpAndSum(float* x, float shift, std::int64_t count) {
  Vec sum{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec e = Exp(Load(x + i) - shift);
    sum += e;
    Store(x + i, e);
  }
  float total = Sum(sum);
  if (i < count) {
    const Vec e = Exp(LoadTail(x + i, count - i, shift) - shift);
    StoreTail(x + i, count - i, e);
    for (std::int64_t lane = 0; lane < count - i; ++lane) total += e[lane];
  }
  return total;
}

// 1 / (1 + e^-2u) with u = sqrt(2/pi) (x + 0.044715 x^3), so that gelu_new(x) = x * gate.
SUBMIX_INLINE Vec GeluGate(Vec x) {
  constexpr float kMinusTwoC = -1.5957691216f;  // -2 sqrt(2/pi)
  return 1.0f / (1.0f + Exp(kMinusTwoC * x * (1.0f + 0.044715f * x * x)));
}
SUBMIX_INLINE Vec GeluSlope(Vec x) {
  constexpr float kTwoC = 1.5957691216f;
  const Vec gate = GeluGate(x);
  return gate + x * gate * (1.0f - gate) * kTwoC * (1.0f + 3 * 0.044715f * x * x);
}

}  // namespace

SUBMIX_MULTIVERSION
double SoftmaxCrossEntropyRow(float* logits, std::int64_t vocab_size, std::int64_t target,
                              float weight) {
  if (target < 0) {
    std::memset(logits, 0, static_cast<std::size_t>(vocab_size) * sizeof(float));
    return 0;
  }
  const float most = Max(logits, vocab_size);
  const float target_logit = logits[target];
  const float sum = ExpAndSum(logits, most, vocab_size);
  const float scale = weight / sum;
  std::int64_t i = 0;
  for (; i + kLanes <= vocab_size; i += kLanes) Store(logits + i, Load(logits + i) * scale);
  for (; i < vocab_size; ++i) logits[i] *= scale;
  logits[target] -= weight;
  return std::log(static_cast<double>(sum)) + static_cast<double>(most) - target_logit;
}

SUBMIX_MULTIVERSION
void GeluForward(const float* x, float* y, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec v = Load(x + i);
    Store(y + i, v * GeluGate(v));
  }
  if (i < count) {
    const Vec v = LoadTail(x + i, count - i, 0);
    StoreTail(y + i, count - i, v * GeluGate(v));
  }
}

SUBMIX_MULTIVERSION
void GeluBackward(const float* x, const float* grad_y, float* grad_x, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store(grad_x + i, Load(grad_y + i) * GeluSlope(Load(x + i)));
  }
  if (i < count) {
    const Vec slope = GeluSlope(LoadTail(x + i, count - i, 0));
    StoreTail(grad_x + i, count - i, LoadTail(grad_y + i, count - i, 0) * slope);
  }
}

SUBMIX_MULTIVERSION
void AttendCached(const CachedHead& head, float* scores, float* output) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(head.head_width));
  for (std::int64_t j = 0; j < head.length; ++j) {
    scores[j] = scale * Dot(head.q, head.k + j * head.stride, head.head_width);
  }
  const float sum = ExpAndSum(scores, Max(scores, head.length), head.length);
  std::memset(output, 0, static_cast<std::size_t>(head.head_width) * sizeof(float));
  for (std::int64_t j = 0; j < head.length; ++j) {
    AddScaled(scores[j] / sum, head.v + j * head.stride, output, head.head_width);
  }
}

SUBMIX_MULTIVERSION
void AddLowRank(const LowRankShape& shape, const float* x, const float* a, const float* b,
                float* y) {
  for (std::int64_t r = 0; r < shape.rank; ++r) {
    const float low = Dot(x, a + r * shape.inputs, shape.inputs);
    AddScaled(low, b + r * shape.outputs, y, shape.outputs);
  }
}

}  // namespace submix::train
