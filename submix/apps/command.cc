#include "submix/apps/command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "submix/apps/help_text.h"
#include "submix/base/log.h"
#include "submix/base/math_library_defaults.h"

namespace submix::apps {
namespace {

constexpr int kFailure = 1;
constexpr int kWrongUse = 2;

// Every command of both programs, as --help lists them.
struct CommandHelp {
  std::string_view name;
  std::string_view summary;
};
constexpr CommandHelp kCommands[] = {
    {"demo", "The whole story on bundled data, in a few minutes"},
    {"plan", "Mechanism, parts and budget, from public numbers alone"},
    {"tokenizer", "Learn a byte-level BPE tokenizer from text"},
    {"pretrain", "Train a small public GPT-2 or Llama from text (resumable)"},
    {"train", "Train a private ensemble on user-keyed text (resumable)"},
    {"contexts", "A private ensemble whose members read records, untrained"},
    {"fedavg", "Train one private model in rounds, by DP-FedAvg (resumable)"},
    {"deploy", "Declare mechanism and budget for an ensemble; makes the ledger"},
    {"declare", "Say of a deployment what no program can know: for the report"},
    {"generate", "Complete a prompt privately, charging the ledger"},
    {"classify", "Label every item of a file, each for one paid token (resumable)"},
    {"synthesize", "Write documents privately, to keep and to share (resumable)"},
    {"serve", "Answer over HTTP, as OpenAI's API does"},
    {"evaluate", "Held-out perplexity of mechanisms and baselines"},
    {"score", "What models say of a text, token by token"},
    {"compare", "How like the real text synthetic text is, what it copies"},
    {"worth", "What a model learns from synthetic text (resumable)"},
    {"report", "One page about a deployment that a privacy officer can read"},
    {"reproduce", "A figure or table of the papers, from text to picture"},
    {"attack", "Extraction, exposure, membership: what attackers get out"},
    {"audit", "Put what is claimed to the test: epsilon, and what the clock tells"},
    {"key", "Make, list and revoke the API keys of a deployment"},
    {"budget", "What a deployment's ledger holds; verify its chain"},
    {"cache", "What is kept on this machine to start faster; empties it"},
    {"relocate", "Say where a moved deployment or its ensemble is now"},
    {"account", "The calculator: what releases cost, what an epsilon buys"},
    {"forget", "Unlearn a user: retrain one member, or drop its records"},
};

// The entry of that name; null if there is none.
template <typename Entry>
const Entry* Find(std::span<const Entry> entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

// "a, b, c" of the commands that could have followed; empty if none could.
std::string Choices(const CLI::App& app) {
  std::string names;
  for (const CLI::App* choice : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + choice->get_name();
  }
  return names;
}

// Insertions, deletions and replacements that make one word the other (Wagner and Fischer 1974).
std::size_t EditDistance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The option of the command, or of its groups, that a misspelt one may have been; empty if none is
// near.
std::string NearestOption(const CLI::App& app, std::string_view misspelt) {
  std::vector<const CLI::Option*> options = app.get_options();
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!part->get_name().empty()) continue;
    const std::vector<const CLI::Option*> of_group = part->get_options();
    options.insert(options.end(), of_group.begin(), of_group.end());
  }
  std::string nearest;
  std::size_t least = 3;
  for (const CLI::Option* option : options) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t distance = EditDistance(misspelt, "--" + name);
      if (distance >= least) continue;
      least = distance;
      nearest = "--" + name;
    }
  }
  return nearest;
}

// What is said of the first option on the command line that the command lacks; empty if it has all.
std::string MisspeltOption(const CLI::App& app) {
  const std::vector<std::string> unexpected = app.remaining();
  const auto word = std::ranges::find_if(
      unexpected, [](const std::string& text) { return text.starts_with('-'); });
  if (word == unexpected.end()) return "";
  const std::string option = word->substr(0, word->find('='));
  const std::string nearest = NearestOption(app, option);
  return "there is no option " + option + (nearest.empty() ? "" : " (nearest: " + nearest + ")");
}

// One line: what is wrong, and which --help says more.
std::string WrongUse(const CLI::App* app, const CLI::Error& error) {
  std::string command = "submix";
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    command += " " + app->get_name();
  }
  std::string what = error.what();
  if (const std::string misspelt = MisspeltOption(*app); !misspelt.empty()) {
    what = misspelt;
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    what = "not expected: " + CLI::detail::join(app->remaining(), " ");
  }
  if (what == "A subcommand is required") what += ": one of " + Choices(*app);
  if (const auto twice = what.find(": At Most 1 required but received"); twice != what.npos) {
    what = what.substr(0, twice) + " is given more than once";
  }
  constexpr std::string_view kOneOfGroup = "Exactly 1 option from [";
  if (what.starts_with(kOneOfGroup)) {  // a group of one: a positional beside a sub-command
    what = what.substr(kOneOfGroup.size(), what.find(']') - kOneOfGroup.size()) + " is required";
  }
  return command + ": " + what + "; `" + command + " --help` says more\n";
}

int Parse(CLI::App& app, int argc, char** argv) {
  app.failure_message(WrongUse);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? -1 : kWrongUse;
  }
}

// Files of weights are mapped: of one that is cut short, or whose disk fails, no byte can be had
// any more. Whatever was released is paid for by then.
void EndOnLostBytes(int) {
  constexpr std::string_view kLine =
      "submix: a file of weights that is in use was cut short, or its disk fails; put the whole "
      "file "
      "in its place and start again\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  std::_Exit(kFailure);
}

}  // namespace

base::Status RunOtherProgram(char** argv, std::string_view other_program) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (self.parent_path() / other_program).string();
  base::SetMathLibraryDefaults();  // or submix-train would start twice
  ::execv(path.c_str(), argv);
  return base::UnavailableError("cannot run " + path + ": " + std::strerror(errno) +
                                "; this command needs it beside this program");
}

int RunProgram(int argc, char** argv, std::span<const Command> commands,
               std::string_view other_program) {
  // What a long command says at its beginning is read while it runs, also from a file.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGBUS, EndOnLostBytes);
  if (argc > 1 && argv[1][0] != '-') {
    if (Find<CommandHelp>(kCommands, argv[1]) == nullptr) {
      std::fprintf(stderr, "submix: there is no command \"%s\"; `submix --help` lists them\n",
                   argv[1]);
      return kWrongUse;
    }
    if (Find(commands, argv[1]) == nullptr) {
      const base::Status failed = RunOtherProgram(argv, other_program);
      std::fprintf(stderr, "submix: %s\n", failed.message().c_str());
      return kFailure;
    }
  }
  CLI::App app(
      "Submix: private next-token prediction. Fine-tunes an ensemble of small adapters on\n"
      "disjoint, user-keyed parts of private text and answers by mixing it with a public model,\n"
      "under a privacy budget that is durable. Start with `submix demo`, or\n"
      "`submix COMMAND --help`.",
      "submix");
  app.set_version_flag("--version", "submix " SUBMIX_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpText>());
  Action action;
  for (const CommandHelp& help : kCommands) {
    CLI::App* subcommand = app.add_subcommand(std::string(help.name), std::string(help.summary));
    subcommand->option_defaults()->always_capture_default();
    if (const Command* own = Find(commands, help.name)) own->add(*subcommand, action);
  }
  if (const int code = Parse(app, argc, argv); code != 0) return code < 0 ? 0 : code;
  base::SetLogSink([](base::LogSeverity, std::string_view line) {
    std::fprintf(stderr, "submix: %.*s\n", static_cast<int>(line.size()), line.data());
  });
  base::Status status;
  try {
    status = action();
  } catch (
      const std::exception& error) {  // allocation, third parties: named, not unwound at the user
    status = base::InternalError(error.what());
  }
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    status = base::ResourceExhaustedError(std::string("what it says cannot be written: ") +
                                          std::strerror(errno));
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "submix %s: %s\n", argv[1], status.message().c_str());
  return kFailure;
}

}  // namespace submix::apps
