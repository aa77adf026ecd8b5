// Sub-commands of `submix account`: what a number of equal runs costs, and how many an epsilon
// buys.
#include <string>
#include <variant>
#include <vector>

#include "submix/accounting/calculators/composed_profile.h"
#include "submix/accounting/calculators/counted_release.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"

namespace submix::apps {
namespace {

using accounting::BestConversion;
using accounting::ConversionKind;
using accounting::CountedRelease;
using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct CountedOptions {
  double parts = 16;
  double clip = 1;
  double temperature = 1;
  double noise_scale = 40;
  double noise_multiplier = 1;
  double sampling_probability = 0.01;
  double mixing_weight = 1e-6;
  double vocabulary = 50257;
  double order = 8;
  double target_leakage = 0.001;
  std::vector<double> votes;
  double delta = accounting::kDefaultDelta;
  std::vector<double> counts;
  std::vector<double> epsilons;
  bool exact = false;
  bool json = false;
};

struct Counted {
  std::string title;
  CountedRelease release;
};

// One row of a table: which flags it has, what they mean, an example.
struct CountedKind {
  const char* name;
  const char* summary;
  const char* counted;  // what there is a number of
  const char* example;
  void (*add)(Flags, CountedOptions&);
  Counted (*make)(const CountedOptions&);
  bool has_exact = false;  // exact composition
  bool only_in_plan = false;
};

void AddParts(Flags flags, CountedOptions& options) {
  flags.Add("--parts", options.parts, kCount, "Number of parts k");
}

void AddDpSgd(Flags flags, CountedOptions& options) {
  flags.Add("--sampling-probability", options.sampling_probability, kProbability,
            "With which each example is in a step's batch, independently");
  flags.Add("--noise-multiplier", options.noise_multiplier, kPositive,
            "Noise, in units of the clipping norm");
}
Counted MakeDpSgd(const CountedOptions& options) {
  return {"DP-SGD: Poisson-subsampled Gaussian steps",
          accounting::DpSgdRelease(options.sampling_probability, options.noise_multiplier)};
}

void AddLaplace(Flags flags, CountedOptions& options) {
  AddParts(flags, options);
  flags.Add("--noise-scale", options.noise_scale, kPositive,
            "Scale b of the noise on the mean pmf");
}
Counted MakeLaplace(const CountedOptions& options) {
  return {"Sample and aggregate: the mean pmf, which moves by 2 / parts, with Laplace noise",
          accounting::LaplaceRelease(options.parts, options.noise_scale)};
}

void AddGnmax(Flags flags, CountedOptions& options) {
  flags.Add("--noise-scale", options.noise_scale, kPositive,
            "Standard deviation of each count's noise");
}
Counted MakeGnmax(const CountedOptions& options) {
  return {"GNMax: the token with most votes after Gaussian noise",
          accounting::GnmaxRelease(options.noise_scale)};
}

void AddDclip(Flags flags, CountedOptions& options) {
  AddParts(flags, options);
  flags.Add("--clip", options.clip, kPositive, "Clip C of a part's log ratios to the public model");
  flags.Add("--temperature", options.temperature, kPositive,
            "If the clip is in logits before a temperature; 1 if after");
}
Counted MakeDclip(const CountedOptions& options) {
  const CountedRelease release =
      accounting::DclipRelease(options.parts, options.clip, options.temperature);
  return {"DClip, a fixed number of answers: a part moves an answer's log ratios by a range of " +
              std::to_string(std::get<accounting::BoundedRangeRun>(release.run).range),
          release};
}

void AddDpDecoding(Flags flags, CountedOptions& options) {
  flags.Add("--mixing-weight", options.mixing_weight, kProbability, "Weight of the model's pmf");
  flags.Add("--vocabulary", options.vocabulary, kCount, "Number of tokens V");
}
Counted MakeDpDecoding(const CountedOptions& options) {
  return {"DP decoding: tokens from the model mixed with the uniform law",
          accounting::DpDecodingRelease(options.mixing_weight,
                                        static_cast<std::int64_t>(options.vocabulary))};
}

void AddFilteredSubmix(Flags flags, CountedOptions& options) {
  flags.Add("--order", options.order, kPositive, "The Renyi order that binds");
  flags.Add("--target-leakage", options.target_leakage, kPositive,
            "Cap on one charge, in nats at the order");
}
Counted MakeFilteredSubmix(const CountedOptions& options) {
  return {"filtered-submix: answers that every part can surely back",
          accounting::FilteredSubmixRelease(options.order, options.target_leakage)};
}

constexpr CountedKind kKinds[] = {
    {"dp-sgd", "Steps of DP-SGD", "steps", "--sampling-probability 0.01 --noise-multiplier 1.1",
     AddDpSgd, MakeDpSgd},
    {"laplace", "Sample and aggregate with Laplace noise", "answers", "--parts 16 --noise-scale 2",
     AddLaplace, MakeLaplace, true},
    {"gnmax", "Votes with Gaussian noise", "answers", "--noise-scale 40", AddGnmax, MakeGnmax},
    {"dclip", "DClip, a fixed number of answers", "answers", "--parts 64 --clip 1.4", AddDclip,
     MakeDclip, true},
    {"dp-decoding", "Tokens mixed with the uniform law", "tokens",
     "--mixing-weight 1e-6 --vocabulary 50257", AddDpDecoding, MakeDpDecoding, true},
    {"filtered-submix", "Answers that every part can surely back", "answers",
     "--order 8 --target-leakage 0.001", AddFilteredSubmix, MakeFilteredSubmix, false, true},
};

// What each number of runs costs.
Status ReportEpsilons(const CountedKind& kind, const CountedOptions& options) {
  const auto [title, release] = kind.make(options);
  CommandReport report;
  report.title = title;
  report.statements.push_back({"epsilon", release.statement});
  if (release.user_run) report.statements.push_back({"user_epsilon", UserStatement(release)});
  if (!options.votes.empty()) {
    report.statements.push_back({"votes_epsilon", accounting::GnmaxVotesStatement()});
  }
  for (const double number : options.counts) {
    const auto count = static_cast<std::int64_t>(number);
    Json row = {{kind.counted, count}};
    const auto set_best = [&](const std::string& prefix, const BestConversion& best) {
      row[prefix + "epsilon"] = best.epsilon;
      row[prefix + "order"] = OrderJson(best.order);
    };
    const accounting::PrivacyEvent event = {release.run, count};
    SUBMIX_ASSIGN_OR_RETURN(const auto best, EpsilonOf(event, options.delta));
    set_best("", best);
    if (release.user_run) {
      SUBMIX_ASSIGN_OR_RETURN(const auto user,
                              accounting::EpsilonOf({*release.user_run, count}, options.delta));
      set_best("user_", user);
    }
    if (!options.votes.empty()) {
      const auto bounds = accounting::GnmaxVotesRdp(options.votes, options.noise_scale, number);
      SUBMIX_ASSIGN_OR_RETURN(const auto votes,
                              BestEpsilon(bounds, options.delta, ConversionKind::kImproved));
      set_best("votes_", votes);
    }
    if (options.exact) {
      SUBMIX_ASSIGN_OR_RETURN(const auto profile, accounting::ComposedProfile(event));
      SUBMIX_ASSIGN_OR_RETURN(const auto exact, ComposedEpsilon(profile, options.delta));
      row["exact_from"] = exact.lower;
      row["exact_to"] = exact.upper;
    }
    row["delta"] = options.delta;
    report.rows.push_back(row);
  }
  if (options.exact) {
    report.notes.push_back(
        "exact from, to: the least epsilon of a number fixed beforehand lies between; a report "
        "only, no filter may use it");
  }
  report.notes.push_back("improved conversion from Renyi divergence, at the best order");
  PrintReport(report, options.json);
  return base::OkStatus();
}

// How many runs each epsilon buys.
Status ReportCounts(const CountedKind& kind, const CountedOptions& options) {
  const auto [title, release] = kind.make(options);
  const std::string key = kind.counted;
  CommandReport report;
  report.title = title;
  report.statements.push_back({key, release.statement});
  if (release.user_run) report.statements.push_back({"user_" + key, UserStatement(release)});
  const auto orders = accounting::DefaultOrders();
  for (const double epsilon : options.epsilons) {
    const accounting::EpsilonDelta target = {epsilon, options.delta};
    Json row = {{"epsilon", epsilon}, {"delta", options.delta}};
    SUBMIX_ASSIGN_OR_RETURN(const auto most, MostRuns(release.run, target, orders));
    row[key] = most.count;
    // Where not one fits, no order is the best.
    row["order"] = most.count > 0 ? OrderJson(most.order) : Json();
    if (release.user_run) {
      SUBMIX_ASSIGN_OR_RETURN(const auto user, MostRuns(*release.user_run, target, orders));
      row["user_" + key] = user.count;
      row["user_order"] = user.count > 0 ? OrderJson(user.order) : Json();
    }
    report.rows.push_back(row);
  }
  report.notes.push_back("the most " + key +
                         " that stay within epsilon, at the best order that holds");
  PrintReport(report, options.json);
  return base::OkStatus();
}

void AddCost(CLI::App& account, Action& action, const CountedKind& kind) {
  CLI::App& command = *account.add_subcommand(kind.name, kind.summary);
  CountedOptions& options = SetAction<CountedOptions>(
      command, action, [&kind](const CountedOptions& of) { return ReportEpsilons(kind, of); });
  Flags flags(command);
  kind.add(flags, options);
  options.counts = {1, 10, 100, 1000, 10000};
  flags.Add(std::string("--") + kind.counted, options.counts, kCount,
            "One or more numbers of them");
  if (kind.make == MakeGnmax) {
    flags.Add("--votes", options.votes, kNonNegative,
              "Votes of each token: adds the data-dependent cost, which is private");
  }
  flags.Add("--delta", options.delta, kDelta, "Of the (epsilon, delta) conversion");
  if (kind.has_exact) flags.Add("--exact", options.exact, "Also by exact composition");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(std::string("Example: submix account ") + kind.name + " " + kind.example + " --" +
                 kind.counted + " 1,1000");
}

void AddPlan(CLI::App& plan, Action& action, const CountedKind& kind) {
  CLI::App& command = *plan.add_subcommand(kind.name, kind.summary);
  CountedOptions& options =
      SetAction<CountedOptions>(command, action, [&kind](const CountedOptions& of) {
        return of.epsilons.empty() ? ReportEpsilons(kind, of) : ReportCounts(kind, of);
      });
  Flags flags(command);
  kind.add(flags, options);
  CLI::App& question = *command.add_option_group("question", "one of the two");
  question.require_option(1);
  Flags(question).Add("--epsilon", options.epsilons, kNonNegative, "How many do these buy?");
  Flags(question).Add(std::string("--") + kind.counted, options.counts, kCount,
                      "Which epsilon do these need?");
  flags.Add("--delta", options.delta, kDelta, "Of the (epsilon, delta) conversion");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(std::string("Example: submix account plan ") + kind.name + " " + kind.example +
                 " --epsilon 1,2,4,8");
}

}  // namespace

void AddCountedSubcommands(CLI::App& account, Action& action) {
  for (const CountedKind& kind : kKinds) {
    if (!kind.only_in_plan) AddCost(account, action, kind);
  }
  CLI::App* const plan = account.add_subcommand(
      "plan", "How many answers an epsilon buys, or which epsilon they need; worst case");
  plan->require_subcommand(1);
  plan->footer("Example: submix account plan dclip --parts 64 --clip 1.4 --epsilon 1,2,4,8");
  for (const CountedKind& kind : kKinds) AddPlan(*plan, action, kind);
}

}  // namespace submix::apps
