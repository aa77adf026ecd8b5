// `submix pretrain`: a public GPT-2-architecture model from raw text.
#include <cstdio>
#include <memory>
#include <string>

#include "submix/apps/program_commands.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/train/fine_tuning/pretrain.h"

namespace submix::apps {
namespace {

struct PretrainCommandOptions {
  train::PretrainOptions pretrain;
  std::string precision = TrainingPrecisionName(DefaultTrainingPrecision());
};

base::Status RunPretrain(PretrainCommandOptions options) {
  train::PretrainOptions& pretrain = options.pretrain;
  pretrain.precision = TrainingPrecisionOf(options.precision);
  SUBMIX_RETURN_IF_ERROR(train::Pretrain(pretrain, base::DetectProgressStyle()));
  std::printf("Wrote %s. Next: submix train CORPUS ENSEMBLE --public %s\n",
              pretrain.output_directory.c_str(), pretrain.output_directory.c_str());
  return base::OkStatus();
}

}  // namespace

void AddPretrainCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<PretrainCommandOptions>();
  train::PretrainOptions& pretrain = options->pretrain;
  command.add_option("text", pretrain.text_files, "Public text files (.txt, .txt.xz)")
      ->required()
      ->check(CLI::ExistingFile);
  command
      .add_option("--tokenizer", pretrain.tokenizer_directory,
                  "Directory with vocab.json and merges.txt (`submix tokenizer` makes one)")
      ->required()
      ->check(CLI::ExistingDirectory);
  command
      .add_option("-o,--output", pretrain.output_directory, "Hugging Face GPT-2 directory to make")
      ->required();
  command.add_option("--layers", pretrain.config.layers, "Transformer layers")
      ->check(CLI::PositiveNumber);
  command.add_option("--width", pretrain.config.width, "Channels")->check(CLI::PositiveNumber);
  command
      .add_option("--heads", pretrain.config.attention_heads, "Attention heads; divides the width")
      ->check(CLI::PositiveNumber);
  command.add_option("--context", pretrain.config.context_length, "Most tokens of a sequence")
      ->check(CLI::PositiveNumber);
  command.add_option("--epochs", pretrain.epochs, "Passes over the text")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--max-tokens", pretrain.max_tokens, "Use only the first so many tokens; 0 = all")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--batch-size", pretrain.batch_size, "Sequences an update")
      ->check(CLI::PositiveNumber);
  command.add_option("--learning-rate", pretrain.learning_rate.peak,
                     "AdamW's, at the end of warm-up; then cosine to a tenth");
  command.add_option("--precision", options->precision, "Of the matrix products: f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}));
  command.add_option("--seed", pretrain.seed, "Decides initial weights and order");
  command.add_option("--threads", pretrain.threads, "0 = one a processor");
  command.footer(
      "A line \"<|endoftext|>\" ends a document. Interrupted? Run the same command again.\n"
      "Example: submix pretrain wiki-*.txt.xz --tokenizer bpe -o public_model");
  command.callback([options, &action] { action = [options] { return RunPretrain(*options); }; });
}

}  // namespace submix::apps
