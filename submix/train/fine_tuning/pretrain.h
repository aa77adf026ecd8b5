// Pre-training of a public model, a GPT-2 or a Llama, from raw text. Torch-free header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/model/decoder_config.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/fine_tuning/fine_tune.h"

namespace submix::train {

struct PretrainOptions {
  // Plain or .xz; a line holding exactly "<|endoftext|>" ends a document.
  std::vector<std::string> text_files;
  std::string tokenizer_directory;  // whose files are copied into the model
  std::string output_directory;     // Hugging Face's layout; appears, whole, at the end
  // The size, and whether it is a "gpt2" or a "llama" (model::LlamaOfSize). vocab_size and
  // end_of_text are taken from the tokenizer.
  model::DecoderConfig config = {
      .context_length = 512, .width = 256, .layers = 6, .attention_heads = 4};
  std::int64_t max_tokens = 0;  // of the text, from its beginning; 0 for all
  // All weights; block_tokens is the model's context and one.
  FineTuneOptions training;
  std::uint64_t seed = 1;

  // Rate, decay and warm-up as they suit a start from nothing.
  PretrainOptions();
};

// Trains the model, or goes on from the last checkpoint in "OUTPUT.partial" with the same bits as
// if nothing had happened. Errors: those of Tokenizer::Load and ReadLines; kInvalidArgument for
// options out of range or text shorter than one row; kAlreadyExists if the output directory exists;
// kFailedPrecondition for a checkpoint of another training; kUnavailable if should_stop said so.
base::Status Pretrain(const PretrainOptions& options, base::ProgressStyle progress);

// All documents of plain or .xz files in order, end_of_text after each. A line that holds exactly
// "<|endoftext|>" ends a document, as does the end of a file; documents without text are skipped.
// Stops after `max_tokens` tokens if that is positive. Errors: those of ReadLines.
base::StatusOr<std::vector<base::TokenId>> ReadDocumentTokens(std::span<const std::string> paths,
                                                              const tokenizer::Tokenizer& tokenizer,
                                                              std::int64_t max_tokens);

}  // namespace submix::train
