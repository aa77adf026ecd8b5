// `submix tokenizer`: a byte-level BPE from text.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/file_system.h"
#include "submix/base/progress_bar.h"
#include "submix/corpus/text_lines.h"
#include "submix/tokenizer/bpe_trainer.h"

namespace submix::apps {
namespace {

struct TokenizerOptions {
  std::vector<std::string> text;
  std::string output;
  int vocab_size = 8192;
};

base::Status AddFile(const std::string& path, tokenizer::BpeTrainer& trainer,
                     base::ProgressBar& progress) {
  return corpus::ReadDocuments(path, [&](std::string_view document) -> base::Status {
    SUBMIX_RETURN_IF_ERROR(trainer.AddText(document));
    progress.Advance(static_cast<std::int64_t>(document.size()));
    return base::OkStatus();
  });
}

base::Status RunTokenizer(const TokenizerOptions& options) {
  tokenizer::BpeTrainer trainer;
  {
    base::ProgressBar progress("Counting words", 0, "bytes");
    for (const std::string& path : options.text) {
      SUBMIX_RETURN_IF_ERROR(AddFile(path, trainer, progress));
    }
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options.output));
  SUBMIX_RETURN_IF_ERROR(trainer.Train(options.vocab_size, options.output));
  std::printf("Wrote %s/vocab.json and merges.txt (%d entries)\n", options.output.c_str(),
              options.vocab_size);
  return base::OkStatus();
}

}  // namespace

void AddTokenizerCommand(CLI::App& command, Action& action) {
  TokenizerOptions& options = SetAction<TokenizerOptions>(command, action, RunTokenizer);
  Flags flags(command);
  flags.Require("text", options.text, "Text files (.txt or .txt.xz) of *public* text");
  flags.Require("-o,--output", options.output, "Directory for vocab.json and merges.txt");
  flags.Add("--vocab-size", options.vocab_size, Between(257, 1 << 20),
            "Entries, <|endoftext|> included");
  command.footer(
      "The vocabulary is public, so it must not be learned from private text (docs/privacy.md).\n"
      "Example: submix tokenizer wiki-*.txt.xz --vocab-size 8192 -o public_model");
}

}  // namespace submix::apps
