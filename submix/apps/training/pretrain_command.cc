// `submix pretrain`: a public model from raw text.
#include <cstdio>
#include <string>

#include "submix/apps/flags.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/shell_word.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/train/fine_tuning/pretrain.h"

namespace submix::apps {
namespace {

struct PretrainCommandOptions {
  train::PretrainOptions pretrain;
  TrainingNumberFlags numbers;
  std::string precision = train::PrecisionName(workbench::DefaultTrainingPrecision());
};

base::Status RunPretrain(PretrainCommandOptions options) {
  SayGoesOnAtInterrupt();
  train::PretrainOptions& pretrain = options.pretrain;
  options.numbers.SetSaid(pretrain.training);
  pretrain.training.precision = train::PrecisionOf(options.precision);
  SUBMIX_RETURN_IF_ERROR(train::Pretrain(pretrain, base::DetectProgressStyle()));
  std::printf("Wrote %s. Next: submix train CORPUS ENSEMBLE --public %s\n",
              pretrain.output_directory.c_str(), ShellWord(pretrain.output_directory).c_str());
  return base::OkStatus();
}

}  // namespace

void AddPretrainCommand(CLI::App& command, Action& action) {
  PretrainCommandOptions& options = SetAction<PretrainCommandOptions>(command, action, RunPretrain);
  Flags flags(command);
  train::PretrainOptions& pretrain = options.pretrain;
  flags.Require("text", pretrain.text_files, kFile, "Public text files (.txt, .txt.xz)");
  flags.Require("--tokenizer", pretrain.tokenizer_directory, kDirectory,
                "Directory with tokenizer.json, or vocab.json and merges.txt (`submix tokenizer`)");
  flags.Require("-o,--output", pretrain.output_directory,
                "Directory to make, in Hugging Face's layout");
  flags.Add("--architecture", pretrain.config.family, OneOf({"gpt2", "llama"}),
            "gpt2, or llama: rotary positions, root-mean-square norms, gated feed-forward");
  flags.Add("--layers", pretrain.config.layers, kPositive, "Transformer layers");
  flags.Add("--width", pretrain.config.width, kPositive, "Channels");
  flags.Add("--heads", pretrain.config.attention_heads, kPositive,
            "Attention heads; divides the width");
  flags
      .Add(
          "--key-value-heads", pretrain.config.key_value_heads, kPositive,
          "Heads of keys and values of a llama; divides the heads. Fewer need less memory to serve")
      ->default_str("as --heads");
  flags.Add("--context", pretrain.config.context_length, kPositive, "Most tokens of a sequence");
  options.numbers.AddTo(flags, &train::TrainingOption::help_of_pretraining, pretrain.training);
  flags.Add("--max-tokens", pretrain.max_tokens, kNonNegative,
            "Use only the first so many tokens; 0 = all");
  flags.Add("--precision", options.precision, OneOf({"f32", "bf16"}),
            "Of the matrix products: f32 or bf16");
  flags.Add("--seed", pretrain.seed, "Decides initial weights and order");
  command.footer(
      "A line \"<|endoftext|>\" ends a document. Interrupted? Run the same command again.\n"
      "Example: submix pretrain wiki-*.txt.xz --tokenizer bpe -o public_model");
}

}  // namespace submix::apps
