#include "submix/decode/transformer.h"

#include <algorithm>

#include "submix/decode/kernels.h"

namespace submix::decode {
namespace {

enum class Epilogue { kNone, kGelu, kAddToHidden };

// One worker's part of a pass.
template <typename Stored>
class LayerWorker {
 public:
  LayerWorker(const Pass<Stored>& pass, PassBuffers& buffers, WorkerTeam& team, int worker)
      : pass_(pass),
        buffers_(buffers),
        team_(team),
        worker_(worker),
        width_(pass.bank.config.width),
        rows_(team.ShareOf(pass.rows(), worker)),
        scratch_(buffers.worker.data() + static_cast<std::size_t>(worker) * buffers.worker_bytes) {}

  void RunLayer(int index) {
    const TransformerLayer<Stored>& layer = pass_.bank.layers[static_cast<std::size_t>(index)];
    NormRows(hidden(), layer.norm_1, layer.attention_in);
    Multiply(layer.attention_in, wide(), 3 * width_, Epilogue::kNone);
    StoreKeysAndValues(index);
    Attend(index);
    ConvertRows(narrow(), layer.attention_out);
    Multiply(layer.attention_out, narrow(), width_, Epilogue::kAddToHidden);
    NormRows(hidden(), layer.norm_2, layer.mlp_in);
    Multiply(layer.mlp_in, wide(), 4 * width_, Epilogue::kGelu);
    ConvertRows(wide(), layer.mlp_out);
    Multiply(layer.mlp_out, narrow(), width_, Epilogue::kAddToHidden);
  }

  void RunHead(float* hidden_rows, float* logits, int logits_stride) {
    NormRows(hidden_rows, pass_.bank.final_norm, pass_.bank.unembedding);
    Multiply(pass_.bank.unembedding, logits, logits_stride, Epilogue::kNone);
  }

 private:
  float* hidden() const { return buffers_.hidden.as<float>(); }
  float* wide() const { return buffers_.wide.as<float>(); }
  float* narrow() const { return buffers_.narrow.as<float>(); }
  static float* Row(float* rows, int row, int row_width) {
    return rows + static_cast<std::size_t>(row) * static_cast<std::size_t>(row_width);
  }
  float* Low(int row) const { return Row(buffers_.low.as<float>(), row, pass_.bank.most_rank); }

  const LowRankFactors<Stored>* Adapter(const LinearLayer<Stored>& linear, int row) const {
    if (linear.adapters.empty()) return nullptr;
    const int group = pass_.group_begin + row / pass_.tokens;
    const LowRankFactors<Stored>& factors = linear.adapters[static_cast<std::size_t>(group)];
    return factors.rank == 0 ? nullptr : &factors;
  }

  void NormRows(float* rows, const NormLayer& norm, const LinearLayer<Stored>& next) {
    auto* normed = reinterpret_cast<float*>(scratch_);
    for (int row = rows_.begin; row < rows_.end; ++row) {
      NormalizeRow(Row(rows, row, width_), norm.gain.data(), norm.shift.data(),
                   static_cast<float>(pass_.bank.config.norm_epsilon), width_, normed);
      ConvertRow(normed, row, next);
    }
    team_.Barrier();
  }

  void ConvertRows(float* rows, const LinearLayer<Stored>& next) {
    for (int row = rows_.begin; row < rows_.end; ++row) {
      ConvertRow(Row(rows, row, next.product->inputs()), row, next);
    }
    team_.Barrier();
  }

  void ConvertRow(const float* row, int index, const LinearLayer<Stored>& next) {
    const MatrixProduct& product = *next.product;
    const std::size_t row_bytes = ActivationRowBytes(product.format(), product.inputs());
    StoreActivations(product.format(), {row, static_cast<std::size_t>(product.inputs())},
                     buffers_.activations.data() + static_cast<std::size_t>(index) * row_bytes,
                     buffers_.scales.as<float>() + index);
    if (const auto* factors = Adapter(next, index)) {
      LowRankDown(row, factors->a, product.inputs(), factors->rank, Low(index));
    }
  }

  void Multiply(const LinearLayer<Stored>& linear, float* results, int results_width,
                Epilogue epilogue) {
    MatrixProduct::Operands operands;
    operands.packed = linear.packed;
    operands.bias = linear.bias.empty() ? nullptr : linear.bias.data();
    operands.activations = buffers_.activations.data();
    operands.scales = buffers_.scales.as<float>();
    operands.rows = pass_.rows();
    operands.results = results;
    operands.results_stride = static_cast<std::size_t>(results_width);
    operands.scratch = scratch_;
    for (int block = worker_; block < linear.product->num_blocks(); block += team_.size()) {
      linear.product->Multiply(block, operands);
      const MatrixProduct::Columns columns = linear.product->block(block);
      AddAdapters(linear, columns, results, results_width);
      for (int row = 0; row < pass_.rows(); ++row) {
        float* result = Row(results, row, results_width) + columns.begin;
        if (epilogue == Epilogue::kGelu) GeluInPlace(result, columns.count());
        if (epilogue == Epilogue::kAddToHidden) {
          AddInPlace(Row(hidden(), row, width_) + columns.begin, result, columns.count());
        }
      }
    }
    team_.Barrier();
  }

  void AddAdapters(const LinearLayer<Stored>& linear, MatrixProduct::Columns columns,
                   float* results, int results_width) {
    if (linear.adapters.empty()) return;
    const auto stride = static_cast<std::size_t>(PairsFor(linear.product->outputs())) * kPairLength;
    for (int row = 0; row < pass_.rows(); ++row) {
      if (const auto* factors = Adapter(linear, row)) {
        LowRankUp(Low(row), factors->b + columns.begin, stride, factors->rank, columns.count(),
                  Row(results, row, results_width) + columns.begin);
      }
    }
  }

  void StoreKeysAndValues(int layer) {
    const HeadPage& shape = pass_.slabs.shape;
    for (int group = 0; group < pass_.groups; ++group) {
      for (const TokenRun& run : pass_.runs) {
        const int first = group * pass_.tokens + run.begin;
        const int begin = std::max(rows_.begin, first);
        const int end = std::min(rows_.end, first + run.count);
        for (int row = begin; row < end; ++row) {
          const int position = run.start + row - first;
          auto* slab = const_cast<std::byte*>(run.slabs[position / kPageTokens]);
          const float* key = Row(wide(), row, 3 * width_) + width_;
          for (int head = 0; head < pass_.slabs.heads; ++head) {
            StoreKeyValue(shape, key + head * shape.width, key + width_ + head * shape.width,
                          position % kPageTokens,
                          reinterpret_cast<Stored*>(
                              slab + pass_.slabs.Offset(layer, pass_.slab_group + group, head)));
          }
        }
      }
    }
    team_.Barrier();
  }

  void Attend(int layer) {
    const auto blocks = static_cast<int>(buffers_.query_blocks.size());
    const int heads = pass_.slabs.heads;
    // Dealt out one by one: later queries of a prompt have more to look at.
    for (int unit = worker_; unit < pass_.groups * blocks * heads; unit += team_.size()) {
      const int block = unit / heads % blocks;
      AttendOnce(layer, unit / heads / blocks,
                 buffers_.query_blocks[static_cast<std::size_t>(block)], unit % heads);
    }
    team_.Barrier();
  }

  void AttendOnce(int layer, int group, const QueryBlock& block, int head) {
    const TokenRun& run = pass_.runs[static_cast<std::size_t>(block.run)];
    const int row = group * pass_.tokens + run.begin + block.begin;
    AttentionOperands<Stored> operands;
    operands.shape = pass_.slabs.shape;
    operands.queries = Row(wide(), row, 3 * width_) + head * operands.shape.width;
    operands.query_stride = 3 * static_cast<std::size_t>(width_);
    operands.count = block.count;
    operands.first_length = run.start + block.begin + 1;
    operands.pages = run.slabs;
    operands.page_offset = pass_.slabs.Offset(layer, pass_.slab_group + group, head);
    operands.out = Row(narrow(), row, width_) + head * operands.shape.width;
    operands.out_stride = static_cast<std::size_t>(width_);
    operands.scratch = reinterpret_cast<float*>(scratch_);
    AttendToPages(operands);
  }

  const Pass<Stored>& pass_;
  PassBuffers& buffers_;
  WorkerTeam& team_;
  const int worker_;
  const int width_;
  const WorkerTeam::Share rows_;
  std::byte* const scratch_;
};

}  // namespace

template <typename Stored>
void PrepareBuffers(const GptBank<Stored>& bank, const ProductSet& products, const HeadPage& head,
                    int workers, int rows, int length, PassBuffers& buffers) {
  constexpr std::size_t kFloat = sizeof(float);
  const auto count = static_cast<std::size_t>(rows);
  const auto width = static_cast<std::size_t>(bank.config.width);
  buffers.hidden.Reserve(count * width * kFloat);
  buffers.narrow.Reserve(count * width * kFloat);
  buffers.wide.Reserve(count * 4 * width * kFloat);
  buffers.activations.Reserve(
      count * ActivationRowBytes(bank.unembedding.product->format(), 4 * bank.config.width));
  buffers.scales.Reserve(count * kFloat);
  buffers.low.Reserve(count * static_cast<std::size_t>(bank.most_rank) * kFloat);
  const std::size_t bytes = std::max(
      {products.scratch_bytes(rows), AttentionScratch(length, head) * kFloat, width * kFloat});
  const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
  if (rounded > buffers.worker_bytes) {
    buffers.worker_bytes = rounded;
    buffers.worker.Reserve(rounded * static_cast<std::size_t>(workers));
  }
}

void PlanQueryBlocks(std::span<const TokenRun> runs, PassBuffers& buffers) {
  buffers.query_blocks.clear();
  for (int run = 0; run < static_cast<int>(runs.size()); ++run) {
    const int count = runs[static_cast<std::size_t>(run)].count;
    for (int begin = 0; begin < count; begin += kMostQueries) {
      buffers.query_blocks.push_back({run, begin, std::min(kMostQueries, count - begin)});
    }
  }
}

template <typename Stored>
void RunLayers(const Pass<Stored>& pass, int layer_begin, int layer_end, PassBuffers& buffers,
               WorkerTeam& team, int worker) {
  LayerWorker<Stored> layers(pass, buffers, team, worker);
  for (int layer = layer_begin; layer < layer_end; ++layer) layers.RunLayer(layer);
}

template <typename Stored>
void RunHead(const GptBank<Stored>& bank, float* hidden, int rows, PassBuffers& buffers,
             float* logits, int logits_stride, WorkerTeam& team, int worker) {
  const SlabLayout no_slabs;
  const Pass<Stored> pass{bank, no_slabs, 0, 0, 1, rows, {}};
  LayerWorker<Stored>(pass, buffers, team, worker).RunHead(hidden, logits, logits_stride);
}

template void PrepareBuffers(const GptBank<float>&, const ProductSet&, const HeadPage&, int, int,
                             int, PassBuffers&);
template void PrepareBuffers(const GptBank<Bfloat16>&, const ProductSet&, const HeadPage&, int, int,
                             int, PassBuffers&);
template void RunLayers(const Pass<float>&, int, int, PassBuffers&, WorkerTeam&, int);
template void RunLayers(const Pass<Bfloat16>&, int, int, PassBuffers&, WorkerTeam&, int);
template void RunHead(const GptBank<float>&, float*, int, PassBuffers&, float*, int, WorkerTeam&,
                      int);
template void RunHead(const GptBank<Bfloat16>&, float*, int, PassBuffers&, float*, int, WorkerTeam&,
                      int);

}  // namespace submix::decode
