// The layers of a bank over a batch of tokens, run by all workers in step. Rows of a pass are
// [group, token]: group-major, tokens of one sequence neighbours.
#pragma once

#include <span>
#include <vector>

#include "submix/base/worker_team.h"
#include "submix/decode/aligned_buffer.h"
#include "submix/decode/decoder_bank.h"
#include "submix/decode/key_value_cache.h"

namespace submix::decode {

// Neighbouring tokens of one sequence within a batch.
struct TokenRun {
  int begin = 0;  // the first one's index among the batch's tokens
  int count = 0;
  int start = 0;                            // tokens of the sequence before them
  int hidden = 0;                           // the sequence's first so many, which others do not see
  const std::byte* const* slabs = nullptr;  // of the sequence, for start + count tokens
};

// At most kMostQueries neighbouring tokens, which attend together.
struct QueryBlock {
  int run = 0;    // index
  int begin = 0;  // within the run
  int count = 0;
};

// Buffers of a pass, grown to the largest one and used again.
struct PassBuffers {
  AlignedBuffer hidden;       // [rows, C] floats: the residual stream
  AlignedBuffer wide;         // [rows, ...]: queries, keys and values; what mlp_in gives
  AlignedBuffer narrow;       // [rows, ...]: attention's outcome, results of the projections
  AlignedBuffer activations;  // [rows] of ActivationRowBytes(most inputs)
  AlignedBuffer turns;        // [tokens, sets of frequencies, head width]: of RotateHead
  AlignedBuffer scales;       // [rows] floats
  AlignedBuffer low;          // [rows, most_rank] floats
  AlignedBuffer worker;       // [workers, worker_bytes]
  std::size_t worker_bytes = 0;
  std::vector<QueryBlock> query_blocks;
};

// What one pass over some layers computes. The groups [group_begin, group_begin + groups) of the
// bank; below the first adapted layer one group that stands for all; where rows are separate, one
// group of tokens that each are of a row of their own.
template <typename Stored>
struct Pass {
  const DecoderBank<Stored>& bank;
  const SlabLayout& slabs;
  int slab_group = 0;  // the slabs' group of group_begin
  int group_begin = 0;
  int groups = 1;
  int tokens = 0;  // a group
  std::span<const TokenRun> runs;
  std::span<const int> token_rows;  // [tokens], indices of bank.rows; empty: not separate
  int rows() const { return groups * tokens; }
};

// Makes room for passes of `rows` rows and sequences of `length` tokens. Not within
// WorkerTeam::Run.
template <typename Stored>
void PrepareBuffers(const DecoderBank<Stored>& bank, const HeadPage& head, int workers, int rows,
                    int length, PassBuffers& buffers);
// Fills buffers.turns for a batch's tokens, where the model has rotary positions.
template <typename Stored>
void PlanTurns(const DecoderBank<Stored>& bank, std::span<const int> positions,
               PassBuffers& buffers);
// Cuts the runs into buffers.query_blocks.
void PlanQueryBlocks(std::span<const TokenRun> runs, PassBuffers& buffers);

// The functions below are called by every worker of the team at once, with the same arguments; each
// returns when all workers have done their share.

// hidden = layers [layer_begin, layer_end) of hidden.
template <typename Stored>
void RunLayers(const Pass<Stored>& pass, int layer_begin, int layer_end, PassBuffers& buffers,
               base::WorkerTeam& team, int worker);

// logits [rows, V], rows `logits_stride` apart, of hidden rows before the final norm.
template <typename Stored>
void RunHead(const DecoderBank<Stored>& bank, float* hidden, int rows, PassBuffers& buffers,
             float* logits, int logits_stride, base::WorkerTeam& team, int worker);

}  // namespace submix::decode
