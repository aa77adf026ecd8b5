#include "benchmarks/machine_limits.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "submix/base/worker_team.h"
#include "submix/decode/aligned_buffer.h"
#include "submix/decode/matrix_product.h"

namespace submix {
namespace {

constexpr int kRepetitions = 3;  // the best counts

template <typename Body>
double SecondsOf(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint64_t SumOf(std::span<const std::uint64_t> words) {
  std::uint64_t lanes[32] = {};
  for (std::size_t i = 0; i + 32 <= words.size(); i += 32) {
    __builtin_prefetch(&words[i] + 512);
    for (std::size_t lane = 0; lane < 32; ++lane) lanes[lane] += words[i + lane];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t lane : lanes) sum += lane;
  return sum;
}

// A product of many rows with a weight that stays in no first-level cache.
class LargeProduct {
 public:
  static constexpr int kSize = 2048;
  static constexpr int kRows = 1024;

  LargeProduct(decode::Precision precision, int threads)
      : product_(decode::MakeMatrixProduct(precision, kSize, kSize, threads)),
        packed_(product_->packed_bytes()),
        row_bytes_(decode::ActivationRowBytes(product_->format(), kSize)),
        activations_(kRows * row_bytes_),
        scales_(kRows),
        results_(std::size_t{kRows} * kSize) {
    const std::vector<float> ones(std::size_t{kSize} * kSize, 1.0f);
    const decode::WeightSource source{
        {{.shape = {kSize, kSize}, .bytes = std::as_bytes(std::span(ones))}}};
    for (int block = 0; block < product_->num_blocks(); ++block) {
      product_->Pack(block, source, packed_.data());
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      decode::StoreActivations(product_->format(), std::span(ones).first(kSize),
                               activations_.data() + row * row_bytes_, &scales_[row]);
    }
  }

  // One worker's share of the blocks.
  void Multiply(int worker, int workers) {
    decode::MatrixProduct::Operands operands;
    operands.packed = packed_.data();
    operands.activations = activations_.data();
    operands.scales = scales_.data();
    operands.rows = kRows;
    operands.results = results_.data();
    operands.results_stride = kSize;
    for (int block = worker; block < product_->num_blocks(); block += workers) {
      product_->Multiply(block, operands);
    }
  }

 private:
  std::unique_ptr<decode::MatrixProduct> product_;
  decode::AlignedBuffer packed_;
  std::size_t row_bytes_;
  decode::AlignedBuffer activations_;
  std::vector<float> scales_;
  std::vector<float> results_;
};

}  // namespace

double MeasureBandwidth(int threads) {
  constexpr std::size_t kWords = std::size_t{768} << 17;  // 768 MiB
  const std::vector<std::uint64_t> words(kWords, 1);
  const std::size_t share = kWords / static_cast<std::size_t>(threads);
  base::WorkerTeam team(threads);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads) * 8);
  double seconds = 1e9;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    seconds = std::min(seconds, SecondsOf([&] {
                         team.Run([&](int worker) {
                           const auto w = static_cast<std::size_t>(worker);
                           sums[w * 8] += SumOf(std::span(words).subspan(share * w, share));
                         });
                       }));
  }
  if (sums[0] == 0) std::printf(" ");  // so that nothing is left out
  return static_cast<double>(kWords) * 8 / seconds;
}

double MeasurePeak(decode::Precision precision, int threads) {
  LargeProduct product(precision, threads);
  base::WorkerTeam team(threads);
  double seconds = 1e9;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    seconds = std::min(seconds, SecondsOf([&] {
                         team.Run([&](int worker) { product.Multiply(worker, threads); });
                       }));
  }
  return 2.0 * LargeProduct::kRows * LargeProduct::kSize * LargeProduct::kSize / seconds;
}

}  // namespace submix
