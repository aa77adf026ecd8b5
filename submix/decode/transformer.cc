#include "submix/decode/transformer.h"

#include <algorithm>

#include "submix/decode/kernels.h"

namespace submix::decode {
namespace {

enum class Epilogue { kNone, kGelu, kAddToHidden, kSoftCap };

// One worker's part of a pass.
template <typename Stored>
class LayerWorker {
 public:
  LayerWorker(const Pass<Stored>& pass, PassBuffers& buffers, base::WorkerTeam& team, int worker)
      : pass_(pass),
        config_(pass.bank.config),
        buffers_(buffers),
        team_(team),
        worker_(worker),
        width_(config_.width),
        head_width_(config_.width_of_head()),
        rows_(team.ShareOf(pass.rows(), worker)),
        scratch_(buffers.worker.data() + static_cast<std::size_t>(worker) * buffers.worker_bytes) {}

  void RunLayer(int index) {
    const TransformerLayer<Stored>& layer = pass_.bank.layers[static_cast<std::size_t>(index)];
    NormRows(hidden(), layer.norm_1, layer.attention_in);
    Multiply(layer.attention_in, wide(), layer.attention_in.product->outputs(), Epilogue::kNone);
    Attend(index);
    ConvertRows(narrow(), layer.attention_out);
    AddOutcome(layer.attention_out, layer.norm_after_attention);
    NormRows(hidden(), layer.norm_2, layer.mlp_in);
    Multiply(layer.mlp_in, wide(), layer.mlp_in.product->outputs(),
             config_.is_gated ? Epilogue::kNone : Epilogue::kGelu);
    if (config_.is_gated) {
      GateRows(layer.mlp_out);
    } else {
      ConvertRows(wide(), layer.mlp_out);
    }
    AddOutcome(layer.mlp_out, layer.norm_after_mlp);
  }

  void RunHead(float* hidden_rows, float* logits, int logits_stride) {
    NormRows(hidden_rows, pass_.bank.final_norm, pass_.bank.unembedding);
    Multiply(pass_.bank.unembedding, logits, logits_stride,
             config_.logit_soft_cap > 0 ? Epilogue::kSoftCap : Epilogue::kNone);
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
    const int owner = pass_.token_rows.empty() ? pass_.group_begin + row / pass_.tokens
                                               : pass_.token_rows[static_cast<std::size_t>(row)];
    const LowRankFactors<Stored>& factors = linear.adapters[static_cast<std::size_t>(owner)];
    return factors.rank == 0 ? nullptr : &factors;
  }

  void NormRows(float* rows, const NormLayer& norm, const LinearLayer<Stored>& next) {
    auto* normed = reinterpret_cast<float*>(scratch_);
    for (int row = rows_.begin; row < rows_.end; ++row) {
      Normalize(Row(rows, row, width_), norm, width_, normed);
      ConvertRow(normed, row, next);
    }
    team_.Barrier();
  }

  void Normalize(const float* x, const NormLayer& norm, int count, float* out) const {
    const auto epsilon = static_cast<float>(config_.norm_epsilon);
    if (norm.shift.empty()) {
      RmsNormalizeRow(x, norm.gain.data(), epsilon, count, out);
    } else {
      NormalizeRow(x, norm.gain.data(), norm.shift.data(), epsilon, count, out);
    }
  }

  // hidden += what the converted rows give, normalised where the model does.
  void AddOutcome(const LinearLayer<Stored>& linear, const NormLayer& norm_after) {
    if (norm_after.gain.empty()) return Multiply(linear, narrow(), width_, Epilogue::kAddToHidden);
    Multiply(linear, narrow(), width_, Epilogue::kNone);
    auto* normed = reinterpret_cast<float*>(scratch_);
    for (int row = rows_.begin; row < rows_.end; ++row) {
      Normalize(Row(narrow(), row, width_), norm_after, width_, normed);
      AddInPlace(Row(hidden(), row, width_), normed, width_);
    }
    team_.Barrier();
  }

  void GateRows(const LinearLayer<Stored>& next) {
    const int count = next.product->inputs();
    auto* gated = reinterpret_cast<float*>(scratch_);
    const auto gate_row = config_.activation == model::Activation::kSilu ? &SiluGate : &GeluGate;
    for (int row = rows_.begin; row < rows_.end; ++row) {
      const float* gate = Row(wide(), row, 2 * count);
      gate_row(gate, gate + count, count, gated);
      ConvertRow(gated, row, next);
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
    for (int block = worker_; block < linear.product->num_blocks(); block += team_.size()) {
      linear.product->Multiply(block, operands);
      const MatrixProduct::Columns columns = linear.product->block(block);
      AddAdapters(linear, columns, results, results_width);
      for (int row = 0; row < pass_.rows(); ++row) {
        float* result = Row(results, row, results_width) + columns.begin;
        if (epilogue == Epilogue::kGelu) GeluInPlace(result, columns.count());
        if (epilogue == Epilogue::kSoftCap) {
          SoftCapInPlace(result, static_cast<float>(config_.logit_soft_cap), columns.count());
        }
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
    for (int row = 0, end = 0; row < pass_.rows(); row = end) {
      const auto* const factors = Adapter(linear, row);
      for (end = row + 1; end < pass_.rows() && Adapter(linear, end) == factors;) ++end;
      if (factors == nullptr) continue;
      const LowRankRows rows = {Low(row), static_cast<std::size_t>(pass_.bank.most_rank),
                                Row(results, row, results_width) + columns.begin,
                                static_cast<std::size_t>(results_width), end - row};
      LowRankUp(rows, factors->b + columns.begin, stride, factors->rank, columns.count());
    }
  }

  // In the numbers that the cache is kept in.
  void Attend(int layer) {
    if (pass_.slabs.number_bytes == sizeof(std::int8_t)) return AttendIn<std::int8_t>(layer);
    AttendIn<Stored>(layer);
  }

  template <typename Cached>
  void AttendIn(int layer) {
    StoreKeysAndValues<Cached>(layer);
    AttendToKeys<Cached>(layer);
  }

  template <typename Cached>
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
          float* queries = Row(wide(), row, in_width());
          PrepareHeads(layer, queries, run.begin + row - first);
          const float* key = queries + config_.query_width();
          const float* value = key + config_.key_width();
          for (int head = 0; head < pass_.slabs.heads; ++head) {
            StoreKeyValue(shape, key + head * head_width_, value + head * head_width_,
                          position % kPageTokens,
                          reinterpret_cast<Cached*>(
                              slab + pass_.slabs.Offset(layer, pass_.slab_group + group, head)));
          }
        }
      }
    }
    team_.Barrier();
  }

  // Queries and keys of a row: normalised and turned to their token's position, where the model
  // does.
  void PrepareHeads(int index, float* queries, int token) {
    const TransformerLayer<Stored>& layer = pass_.bank.layers[static_cast<std::size_t>(index)];
    const int heads = config_.attention_heads;
    for (int head = 0; head < heads + pass_.slabs.heads; ++head) {  // keys follow queries
      float* own = queries + head * head_width_;
      const NormLayer& norm = head < heads ? layer.query_norm : layer.key_norm;
      if (!norm.gain.empty()) Normalize(own, norm, head_width_, own);
      if (config_.has_learned_positions) continue;
      const std::size_t turn = static_cast<std::size_t>(token) * pass_.bank.frequencies.size() +
                               pass_.bank.FrequenciesOf(index);
      RotateHead(own, Row(buffers_.turns.as<float>(), static_cast<int>(turn), head_width_),
                 head_width_);
    }
  }

  template <typename Cached>
  void AttendToKeys(int layer) {
    const auto blocks = static_cast<int>(buffers_.query_blocks.size());
    const int queries_a_key = config_.attention_heads / pass_.slabs.heads;
    // Heads that share keys read them together, where there is work for all even so.
    const bool is_shared = pass_.groups * blocks * pass_.slabs.heads >= team_.size();
    const int heads_a_unit = is_shared ? queries_a_key : 1;
    const int units_a_block = config_.attention_heads / heads_a_unit;
    // Dealt out one by one: later queries of a prompt have more to look at.
    for (int unit = worker_; unit < pass_.groups * blocks * units_a_block; unit += team_.size()) {
      const QueryBlock& block =
          buffers_.query_blocks[static_cast<std::size_t>(unit / units_a_block % blocks)];
      const int first_head = unit % units_a_block * heads_a_unit;
      const int heads_at_a_time = block.count == 1 ? kMostQueries : 1;
      for (int head = 0; head < heads_a_unit; head += heads_at_a_time) {
        AttendOnce<Cached>(layer, unit / units_a_block / blocks, block, first_head + head,
                           std::min(heads_at_a_time, heads_a_unit - head));
      }
    }
    team_.Barrier();
  }

  // Of several heads, which share keys, only for one token.
  template <typename Cached>
  void AttendOnce(int layer, int group, const QueryBlock& block, int head, int heads) {
    const bool is_one_token = block.count == 1;
    const TokenRun& run = pass_.runs[static_cast<std::size_t>(block.run)];
    const int row = group * pass_.tokens + run.begin + block.begin;
    AttentionOperands<Cached> operands;
    operands.shape = pass_.slabs.shape;
    operands.queries = Row(wide(), row, in_width()) + head * head_width_;
    operands.query_stride = static_cast<std::size_t>(is_one_token ? head_width_ : in_width());
    operands.count = is_one_token ? heads : block.count;
    operands.first_length = run.start + block.begin + 1;
    operands.tokens_a_query = is_one_token ? 0 : 1;
    operands.window = config_.is_windowed(layer) ? config_.window : 0;
    operands.hidden = run.hidden;
    operands.scale = config_.scale_of_scores();
    operands.soft_cap = static_cast<float>(config_.attention_soft_cap);
    operands.pages = run.slabs;
    const int queries_a_key = config_.attention_heads / pass_.slabs.heads;
    operands.page_offset =
        pass_.slabs.Offset(layer, pass_.slab_group + group, head / queries_a_key);
    operands.out = Row(narrow(), row, config_.query_width()) + head * head_width_;
    operands.out_stride =
        static_cast<std::size_t>(is_one_token ? head_width_ : config_.query_width());
    operands.scratch = reinterpret_cast<float*>(scratch_);
    AttendToPages(operands);
  }

  int in_width() const { return config_.query_width() + 2 * config_.key_width(); }

  const Pass<Stored>& pass_;
  const model::DecoderConfig& config_;
  PassBuffers& buffers_;
  base::WorkerTeam& team_;
  const int worker_;
  const int width_;
  const int head_width_;
  const base::WorkerTeam::Share rows_;
  std::byte* const scratch_;
};

}  // namespace

template <typename Stored>
void PrepareBuffers(const DecoderBank<Stored>& bank, const HeadPage& head, int workers, int rows,
                    int length, PassBuffers& buffers) {
  constexpr std::size_t kFloat = sizeof(float);
  const auto count = static_cast<std::size_t>(rows);
  const model::DecoderConfig& config = bank.config;
  const auto width = static_cast<std::size_t>(config.width);
  const int most_inputs = std::max({config.width, config.query_width(), config.width_of_mlp()});
  const int most_outputs = std::max(config.query_width() + 2 * config.key_width(),
                                    (config.is_gated ? 2 : 1) * config.width_of_mlp());
  buffers.hidden.Reserve(count * width * kFloat);
  buffers.narrow.Reserve(count * std::max(width, static_cast<std::size_t>(config.query_width())) *
                         kFloat);
  buffers.wide.Reserve(count * static_cast<std::size_t>(most_outputs) * kFloat);
  const auto row_bytes = [&](const LinearLayer<Stored>& linear) {
    return ActivationRowBytes(linear.product->format(), most_inputs);
  };
  buffers.activations.Reserve(
      count * std::max(row_bytes(bank.layers.front().attention_in), row_bytes(bank.unembedding)));
  buffers.scales.Reserve(count * kFloat);
  buffers.low.Reserve(count * static_cast<std::size_t>(bank.most_rank) * kFloat);
  const std::size_t bytes =
      std::max(AttentionScratch(length, head), static_cast<std::size_t>(most_inputs)) * kFloat;
  const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
  if (rounded > buffers.worker_bytes) {
    buffers.worker_bytes = rounded;
    buffers.worker.Reserve(rounded * static_cast<std::size_t>(workers));
  }
}

template <typename Stored>
void PlanTurns(const DecoderBank<Stored>& bank, std::span<const int> positions,
               PassBuffers& buffers) {
  if (bank.config.has_learned_positions) return;
  const auto width = static_cast<std::size_t>(bank.config.width_of_head());
  buffers.turns.Reserve(positions.size() * bank.frequencies.size() * width * sizeof(float));
  float* turn = buffers.turns.as<float>();
  for (const int position : positions) {
    for (const std::vector<double>& frequencies : bank.frequencies) {
      for (std::size_t i = 0; i < width / 2; ++i) {
        turn[i] = static_cast<float>(std::cos(position * frequencies[i]));
        turn[width / 2 + i] = static_cast<float>(std::sin(position * frequencies[i]));
      }
      turn += width;
    }
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
               base::WorkerTeam& team, int worker) {
  LayerWorker<Stored> layers(pass, buffers, team, worker);
  for (int layer = layer_begin; layer < layer_end; ++layer) layers.RunLayer(layer);
}

template <typename Stored>
void RunHead(const DecoderBank<Stored>& bank, float* hidden, int rows, PassBuffers& buffers,
             float* logits, int logits_stride, base::WorkerTeam& team, int worker) {
  const SlabLayout no_slabs;
  const Pass<Stored> pass{bank, no_slabs, 0, 0, 1, rows, {}, {}};
  LayerWorker<Stored>(pass, buffers, team, worker).RunHead(hidden, logits, logits_stride);
}

template void PrepareBuffers(const DecoderBank<float>&, const HeadPage&, int, int, int,
                             PassBuffers&);
template void PrepareBuffers(const DecoderBank<Bfloat16>&, const HeadPage&, int, int, int,
                             PassBuffers&);
template void PlanTurns(const DecoderBank<float>&, std::span<const int>, PassBuffers&);
template void PlanTurns(const DecoderBank<Bfloat16>&, std::span<const int>, PassBuffers&);
template void RunLayers(const Pass<float>&, int, int, PassBuffers&, base::WorkerTeam&, int);
template void RunLayers(const Pass<Bfloat16>&, int, int, PassBuffers&, base::WorkerTeam&, int);
template void RunHead(const DecoderBank<float>&, float*, int, PassBuffers&, float*, int,
                      base::WorkerTeam&, int);
template void RunHead(const DecoderBank<Bfloat16>&, float*, int, PassBuffers&, float*, int,
                      base::WorkerTeam&, int);

}  // namespace submix::decode
