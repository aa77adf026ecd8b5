// How long a tokenizer takes to load and to encode a text: one JSON object a line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::vector<std::string> tokenizers = {"data/public_model"};
  std::string text = "data/shakespeare.jsonl";
  int rounds = 5;
  bool json = false;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The best of the rounds: what others do on the machine only adds.
base::Status Measure(const std::string& directory, const std::string& text,
                     const Settings& settings) {
  double load_seconds = 1e9;
  double encode_seconds = 1e9;
  std::size_t num_tokens = 0;
  for (int round = 0; round < settings.rounds; ++round) {
    auto start = Clock::now();
    SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, tokenizer::Tokenizer::Load(directory));
    load_seconds = std::min(load_seconds, SecondsSince(start));
    start = Clock::now();
    SUBMIX_ASSIGN_OR_RETURN(const auto tokens, tokenizer->Encode(text));
    num_tokens = tokens.size();
    encode_seconds = std::min(encode_seconds, SecondsSince(start));
  }
  const double bytes = static_cast<double>(text.size());
  const double megabytes_per_second = bytes / 1e6 / encode_seconds;
  const double bytes_per_token = bytes / static_cast<double>(num_tokens);
  if (settings.json) {
    std::printf(
        "{\"tokenizer\": %s, \"ms_to_load\": %.1f, \"megabytes_per_second\": %.2f, "
        "\"bytes_per_token\": %.3f}\n",
        base::JsonText(directory).c_str(), 1e3 * load_seconds, megabytes_per_second,
        bytes_per_token);
  } else {
    std::printf("%-40s %7.1f ms to load %7.2f MB/s %6.2f bytes a token\n", directory.c_str(),
                1e3 * load_seconds, megabytes_per_second, bytes_per_token);
  }
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"How long tokenizers take to load and to encode a text"};
  app.add_option("--tokenizer", settings.tokenizers, "Directories")->delimiter(',');
  app.add_option("--text", settings.text, "File");
  app.add_option("--rounds", settings.rounds, "The best counts")->check(CLI::PositiveNumber);
  app.add_flag("--json", settings.json, "One object a line");
  CLI11_PARSE(app, argc, argv);
  const auto text = base::ReadFile(settings.text);
  base::Status status = text.status();
  for (const std::string& directory : settings.tokenizers) {
    if (status.ok()) status = Measure(directory, *text, settings);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "tokenizer_benchmark: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) { return submix::Run(argc, argv); }
