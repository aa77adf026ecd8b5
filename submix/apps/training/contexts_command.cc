// `submix contexts`: an ensemble whose members read their parts' records, instead of being trained
// or after it.
#include <cstdio>
#include <string>
#include <vector>

#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/shell_word.h"
#include "submix/base/file_system.h"
#include "submix/mechanism/quantise.h"
#include "submix/workbench/ensembles/loss_notes.h"
#include "submix/workbench/ensembles/made_contexts.h"

namespace submix::apps {
namespace {

using base::Status;

struct ContextsOptions {
  workbench::ContextsRequest request;
  std::string retrieval = ensemble::RetrievalName(ensemble::Retrieval::kNone);
  std::string template_file;
};

Status ReadTemplate(const std::string& path, std::string& record_template) {
  if (path.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(record_template, base::ReadFile(path));
  const Status checked = ensemble::CheckRecordTemplate(record_template);
  if (checked.ok()) return checked;
  return base::InvalidArgumentError(path + ": " + std::string(checked.message()));
}

void PrintNotes(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (!line.empty()) std::printf("%s\n", line.c_str());
  }
}

void PrintMade(const workbench::ContextsRequest& request,
               const workbench::ContextsPlan::Made& made) {
  if (made.left_out > 0) {
    std::printf("For you alone: users left out, whom no adapter was trained on: %lld.\n",
                static_cast<long long>(made.left_out));
  }
  std::printf(
      "%s holds %s%d parts, %s each, that read %d tokens. Next: submix deploy %s DEPLOYMENT\n",
      request.ensemble.c_str(),
      request.batches == 1 ? "" : (std::to_string(request.batches) + " batches of ").c_str(),
      request.partition.num_parts, request.partition.halves == 1 ? "one member" : "two members",
      request.contexts.tokens, ShellWord(request.ensemble).c_str());
  for (const ensemble::OpenedEnsemble& one : made.ensembles) {
    PrintNotes({workbench::MembersWithoutText(one.manifest())});
  }
}

Status RunContexts(ContextsOptions options) {
  ensemble::Contexts& contexts = options.request.contexts;
  SUBMIX_ASSIGN_OR_RETURN(contexts.retrieval, ensemble::ParseRetrieval(options.retrieval));
  SUBMIX_RETURN_IF_ERROR(ReadTemplate(options.template_file, contexts.record_template));
  SUBMIX_ASSIGN_OR_RETURN(const auto plan, workbench::ContextsPlan::Create(options.request));
  const workbench::ContextsRequest& request = plan.request();
  SUBMIX_ASSIGN_OR_RETURN(
      const std::string losses,
      workbench::WhatAddsUp({request.corpus, request.ensemble, request.public_directory}, {}));
  SUBMIX_ASSIGN_OR_RETURN(const auto notes,
                          workbench::WhatStandsOut(request.corpus, request.partition.num_parts,
                                                   /*names_cap=*/false));
  PrintNotes({losses});
  PrintNotes(notes);
  SUBMIX_ASSIGN_OR_RETURN(const auto made, plan.Make());
  PrintMade(request, made);
  return base::OkStatus();
}

}  // namespace

void AddContextsCommand(CLI::App& command, Action& action) {
  ContextsOptions& options = SetAction<ContextsOptions>(command, action, RunContexts);
  workbench::ContextsRequest& request = options.request;
  Flags flags(command);
  request.partition.num_parts = 16;
  request.partition.heldout_fraction = 0.1;
  request.contexts.tokens = 256;
  RequireCorpus(flags, "corpus", "Private text", request.corpus);
  flags.Require("ensemble", request.ensemble, "Directory to make");
  CLI::App& readers = *command.add_option_group("readers", "who reads the records");
  readers.require_option(1);
  Flags(readers).Add("--public", request.public_directory, kDirectory,
                     "This public model, for each part: a directory in Hugging Face's layout");
  CLI::Option* const adapters = Flags(readers).Add(
      "--adapters", request.adapters, kDirectory,
      "Each part's adapter: an ensemble that `submix train` made of these users, "
      "whose parts and key are taken");
  flags
      .Add("--parts", request.partition.num_parts, Between(1, mechanism::kMaxParts),
           "Disjoint sets of users; more parts cost less privacy each")
      ->excludes(adapters);
  flags
      .Add("--batches", request.batches, Between(1, 100'000),
           "Disjoint batches of users, --parts parts in each: `submix synthesize` writes documents "
           "by each in turn, and a user pays for those of one batch alone")
      ->excludes(adapters);
  flags
      .Add("--halves", request.partition.halves, Between(1, 2),
           "Members a part: 2 makes the pairs that `submix` needs")
      ->excludes(adapters);
  flags
      .Add("--heldout-fraction", request.partition.heldout_fraction, Between(0.0, 0.9),
           "Share of the users kept for evaluation, never read")
      ->excludes(adapters);
  flags
      .Add("--partition-key", request.partition_key, kFile,
           "32-byte key file of another ensemble, to partition alike; default: a new secret")
      ->excludes(adapters);
  flags.Add("--context-tokens", request.contexts.tokens, kPositive,
            "Of its records each member reads so many tokens before a query; a public number, and "
            "the same work for all");
  flags.Add("--retrieval", options.retrieval, OneOf({"none", "bm25"}),
            "Which records: none: the same for all queries; bm25: those of its part that match the "
            "query best");
  flags.Add("--template", options.template_file, kFile,
            "A file of public text around every record, which stands for its {record}, such as "
            "\"Review: {record}\" and an empty line; without: each is a text of its own");
  flags
      .Add(
          "--public-keys", request.contexts.public_keys,
          "The list of users is public, and each part is one of them, so that one user is promised "
          "what one part is (docs/privacy.md, Public keys); users beyond the parts are not read. "
          "Of few users, give --heldout-fraction 0, too")
      ->excludes(adapters);
  command.footer(
      "Nothing is trained: it takes seconds, and so does `submix forget`, which with --adapters\n"
      "trains one again. A query holds up others while the records that bm25 has found are\n"
      "read; without it they are read once.\n"
      "Example: submix contexts text.jsonl my_ensemble --public gpt2 --parts 32 --context-tokens "
      "256");
}

}  // namespace submix::apps
