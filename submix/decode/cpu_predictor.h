// The Predictor for processors: the public model, all members and all sequences of a step in one
// pass over the weights. Layers below the lowest adapted one are the same for all members and are
// computed, and cached, once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/decode/precision.h"
#include "submix/ensemble/predictor.h"

namespace submix::decode {

struct CpuPredictorOptions {
  std::string public_directory;  // Hugging Face's layout
  // Member m is member_directories[m]: a PEFT adapter, or a whole model of the public model's
  // shape.
  std::vector<std::string> member_directories;
  // A sequence is then of one row alone (OpenHidden), num_members() is 0, and logits are of that
  // row. Members are adapters.
  bool has_separate_rows = false;
  // The tokens that can come next are those below it: a tokenizer's, where the model's vocabulary
  // is padded beyond them. 0 or more than the model's: all.
  int vocab_size = 0;
  Precision precision = Precision::kBfloat16;
  // Keys and values in bytes (kernels.h, HeadPage) instead of float32 or, but for kFloat32,
  // bfloat16.
  bool has_byte_cache = false;
  int threads = 0;              // 0: as many as processors that the process may run on
  std::string cache_directory;  // of packed weights (packed_weights.h); empty: none
  // Long prompts and documents are computed so many rows (members times tokens) at a time: bounds
  // the memory of a step, changes no result.
  int rows_at_a_time = 4096;
};

// What a predictor holds, in bytes.
struct CpuPredictorMemory {
  std::size_t weights = 0;   // packed; all models
  std::size_t adapters = 0;  // all members
  // Keys and values of one sequence, for every 16 tokens begun.
  std::size_t cache_per_16_tokens = 0;
  std::size_t logits_per_sequence = 0;  // of all rows, which the caller holds
  bool operator==(const CpuPredictorMemory&) const = default;
};

// No row depends on anything but its own model and tokens, bit for bit. Step allocates nothing once
// it has seen the largest batch, but for a slab of cache every 16 tokens that no closed sequence
// has left.
class CpuPredictor : public ensemble::Predictor {
 public:
  // Errors: those of LoadDecoderConfig, SafetensorsFile::Open and LoadLoraAdapter;
  // kFailedPrecondition for a whole model of another shape than the public one, or where rows are
  // separate; kInvalidArgument for options out of range.
  static base::StatusOr<std::unique_ptr<CpuPredictor>> Load(const CpuPredictorOptions& options);

  // What Load would hold, by shapes alone: no weight is read. Errors: as Load, but for what weights
  // do.
  static base::StatusOr<CpuPredictorMemory> Plan(const CpuPredictorOptions& options);

  virtual CpuPredictorMemory memory() const = 0;

  // Rows that a sequence can be of: 0 the public model, 1 + m member m. 1 where rows are not
  // separate: row 0 stands for all.
  virtual int num_separate_rows() const = 0;
  // A new sequence of one of these rows; Open's is of row 0. Its first `hidden` tokens are there
  // for their cost alone: no later token sees them, and positions count from after them. Sequences
  // of one length cost the same, however many of their tokens are hidden.
  virtual ensemble::SequenceId OpenHidden(int hidden, int row) = 0;
  // Score, of one of these rows; Score's own is row 0.
  virtual base::Status ScoreRow(int row, std::span<const base::TokenId> tokens, std::size_t first,
                                const PositionSink& sink) = 0;
};

}  // namespace submix::decode
