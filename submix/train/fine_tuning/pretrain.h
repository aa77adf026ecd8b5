// Pre-training of a public GPT-2-architecture model from raw text. Torch-free header.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/model/gpt_config.h"
#include "submix/train/numerics/adamw.h"
#include "submix/train/numerics/learning_rate.h"
#include "submix/train/numerics/precision.h"

namespace submix::train {

struct PretrainOptions {
  // Plain or .xz; a line holding exactly "<|endoftext|>" ends a document.
  std::vector<std::string> text_files;
  std::string tokenizer_directory;  // vocab.json and merges.txt, copied into the model
  std::string output_directory;     // Hugging Face's layout; appears, whole, at the end
  // vocab_size and end_of_text are taken from the tokenizer.
  model::GptConfig config = {
      .context_length = 512, .width = 256, .layers = 6, .attention_heads = 4};
  std::int64_t max_tokens = 0;  // of the text, from its beginning; 0 for all
  int epochs = 1;
  int batch_size = 8;  // rows of context_length tokens an update
  LearningRateSchedule learning_rate = {
      .peak = 1.5e-3, .warmup_fraction = 0.03, .decay = Decay::kCosine, .final_fraction = 0.1};
  AdamWOptions adamw = {.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1};  // matrices only
  double gradient_clip = 1.0;
  Precision precision = Precision::kFloat32;
  int threads = 0;  // 0: all processors
  std::uint64_t seed = 1;
  std::int64_t checkpoint_every = 200;  // updates; 0 for never
  std::function<bool()> should_stop;  // polled before every update; ends it there, as a crash would
  std::function<void(std::int64_t step, double loss)> loss_sink;
};

// Trains the model, or goes on from the last checkpoint in "OUTPUT.partial" with the same bits as
// if nothing had happened. Errors: those of Tokenizer::Load and ReadLines; kInvalidArgument for
// options out of range or text shorter than one row; kAlreadyExists if the output directory exists;
// kFailedPrecondition for a checkpoint of another training; kUnavailable if should_stop said so.
base::Status Pretrain(const PretrainOptions& options, base::ProgressStyle progress);

}  // namespace submix::train
