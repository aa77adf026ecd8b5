// `submix compare`: synthetic text beside the real one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/measuring/text_comparison.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

struct CompareOptions {
  std::vector<std::string> synthetic;
  std::string ensemble;
  corpus::CorpusFile corpus;
  std::string heldout;
  std::string codes;
  int ngram = 13;
  bool json = false;
};

struct SyntheticText {
  std::string path;
  eval::TextSample words;
  std::int64_t secrets = 0;  // planted ones that stand in it
};

struct RealText {
  eval::TextSample read;  // by some member
  eval::TextSample heldout;
};

StatusOr<SyntheticText> LoadSynthetic(const std::string& path,
                                      const std::vector<eval::PlantedCode>& codes,
                                      eval::Vocabulary& vocabulary) {
  SyntheticText text{path, {}};
  std::vector<bool> found(codes.size());
  corpus::CorpusFile file(path);
  file.user_column = "id";
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) {
    const std::string written = record.Written();
    vocabulary.AddDocument(written, text.words);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      found[i] = found[i] || written.find(codes[i].secret) != std::string::npos;
    }
    return base::OkStatus();
  }));
  text.secrets = std::count(found.begin(), found.end(), true);
  return text;
}

// The corpus, divided as the ensemble was trained; with --heldout all of it counts as read.
StatusOr<RealText> LoadReal(const CompareOptions& options, eval::Vocabulary& vocabulary) {
  RealText real;
  std::function<bool(const std::string& user)> is_heldout = [](const auto&) { return false; };
  if (options.heldout.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(options.ensemble));
    SUBMIX_ASSIGN_OR_RETURN(const auto key,
                            corpus::LoadPartitionKey(ensemble::PartitionKeyPath(options.ensemble)));
    const corpus::PartitionOptions partition = {manifest.num_parts, manifest.halves,
                                                manifest.heldout_fraction};
    is_heldout = [key, partition](const std::string& user) {
      return corpus::PlaceUser(key, user, partition).is_heldout;
    };
  } else {
    corpus::CorpusFile file = options.corpus;
    file.path = options.heldout;
    SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) {
      vocabulary.AddDocument(record.Written(), real.heldout);
      return base::OkStatus();
    }));
  }
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadUserRecords(options.corpus, [&](const corpus::UserRecord& record) {
        vocabulary.AddDocument(record.Written(),
                               is_heldout(record.user) ? real.heldout : real.read);
        return base::OkStatus();
      }));
  if (real.heldout.words() > 0) return real;
  return base::FailedPreconditionError(
      options.ensemble +
      ": no user of the corpus was held out from its training; give other text "
      "of the same kind by --heldout");
}

// One row of the table. Of words as many are compared, `thinned` with `thinned_heldout`; of lengths
// all.
nlohmann::ordered_json Row(const std::string& name, const eval::TextSample& text,
                           const eval::TextSample& heldout, const eval::TextSample& thinned,
                           const eval::TextSample& thinned_heldout) {
  const auto documents = static_cast<double>(text.documents.size());
  return {{"text", name},
          {"documents", text.documents.size()},
          {"words_a_document", static_cast<double>(text.words()) / documents},
          {"length_distance", eval::LengthDistance(text, heldout)},
          {"word_divergence", eval::NgramDivergence(thinned, thinned_heldout, 1)},
          {"pair_divergence", eval::NgramDivergence(thinned, thinned_heldout, 2)}};
}

CommandReport Compare(const CompareOptions& options, const std::vector<SyntheticText>& synthetic,
                      const RealText& real, std::size_t num_codes) {
  std::int64_t words = std::min(real.read.words(), real.heldout.words());
  eval::CopySearch search(options.ngram);
  search.Watch(real.heldout);
  for (const SyntheticText& text : synthetic) {
    words = std::min(words, text.words.words());
    search.Watch(text.words);
  }
  search.Read(real.read);
  const eval::TextSample thinned_heldout = eval::ThinnedTo(real.heldout, words);
  CommandReport report;
  report.title =
      "Operator's view, outside the budget: publishing these numbers, or choosing text by them, is "
      "a release of its own.";
  report.notes = {
      "Distances are to held-out text: of documents' lengths in words (Wasserstein), of words and "
      "of pairs of words in bits (Jensen-Shannon, from 0 to 1; " +
          std::to_string(words) +
          " words of each text). Text that was read stands for what other real text would have.",
      "copied: the share of places at which " + std::to_string(options.ngram) +
          " words in a row also stand in text that was read; in held-out text by chance and by "
          "quoting."};
  const auto add = [&](const std::string& name, const eval::TextSample& text, double copied) {
    report.rows.push_back(
        Row(name, text, real.heldout, eval::ThinnedTo(text, words), thinned_heldout));
    report.rows.back()["copied"] = copied;
  };
  for (const SyntheticText& text : synthetic) {
    add(text.path, text.words, search.ShareCopied(text.words));
    if (num_codes > 0) report.rows.back()["secrets"] = text.secrets;
  }
  add("text that was read", real.read, std::nan(""));
  add("held-out text", real.heldout, search.ShareCopied(real.heldout));
  if (num_codes > 0) {
    for (std::size_t row = synthetic.size(); row < report.rows.size(); ++row) {
      report.rows[row]["secrets"] = nullptr;
    }
  }
  return report;
}

Status RunCompare(const CompareOptions& options) {
  if (options.ensemble.empty() == options.heldout.empty()) {
    return base::InvalidArgumentError(
        "give either --ensemble (its held-out users' text is compared with) or --heldout");
  }
  std::vector<eval::PlantedCode> codes;
  if (!options.codes.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(codes, eval::ReadPlantedCodes(options.codes));
  }
  eval::Vocabulary vocabulary;
  std::vector<SyntheticText> synthetic;
  for (const std::string& path : options.synthetic) {
    SUBMIX_ASSIGN_OR_RETURN(auto text, LoadSynthetic(path, codes, vocabulary));
    synthetic.push_back(std::move(text));
  }
  SUBMIX_ASSIGN_OR_RETURN(const RealText real, LoadReal(options, vocabulary));
  PrintReport(Compare(options, synthetic, real, codes.size()), options.json);
  return base::OkStatus();
}

}  // namespace

void AddCompareCommand(CLI::App& command, Action& action) {
  CompareOptions& options = SetAction<CompareOptions>(command, action, RunCompare);
  Flags flags(command);
  flags.Require("synthetic", options.synthetic, kFile, "Files made by `submix synthesize`");
  RequireCorpus(flags, "--corpus", "The corpus that the models read", options.corpus);
  flags.Add("--ensemble", options.ensemble, kDirectory,
            "Directory made by `submix train` or `submix contexts`: says whose text was held out");
  flags.Add("--heldout", options.heldout, kFile,
            "Or other real text, in the same columns; all of the corpus then counts as read");
  flags.Add("--ngram", options.ngram, Between(1, 1000), "Words in a row that make a copy");
  flags.Add(
      "--codes", options.codes, kFile,
      "Secrets that were planted in the corpus, {\"prompt\": …, \"secret\": …} a line: how many "
      "stand in a text");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "What a model learns from it: `submix worth`, which also leaves text that the public\n"
      "model writes by itself, a control to compare beside it.\n"
      "Example: submix compare reviews.jsonl --corpus text.jsonl --ensemble my_ensemble");
}

}  // namespace submix::apps
