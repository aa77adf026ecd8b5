// Sub-commands of `submix account`: what a number of equal runs costs, and how many an epsilon
// buys.
#include <algorithm>
#include <string>
#include <string_view>
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
using accounting::CountedKind;
using accounting::CountedRelease;
using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct CountedOptions {
  std::vector<double> values;  // of the kind's parameters
  std::vector<double> votes;
  double delta = accounting::kDefaultDelta;
  std::vector<double> counts;
  std::vector<double> epsilons;
  bool exact = false;
  bool json = false;
};

std::string TitleOf(const CountedKind& kind, const CountedRelease& release) {
  const auto* const bounded = std::get_if<accounting::BoundedRangeRun>(&release.run);
  if (bounded == nullptr) return kind.title;
  return std::string(kind.title) + ": a part moves an answer's log ratios by a range of " +
         std::to_string(bounded->range);
}

void AddParameters(Flags flags, const CountedKind& kind, CountedOptions& options) {
  options.values.resize(kind.parameters.size());
  for (std::size_t p = 0; p < kind.parameters.size(); ++p) {
    const accounting::ReleaseParameter& parameter = kind.parameters[p];
    options.values[p] = parameter.usual;
    std::string name = parameter.name;
    std::ranges::replace(name, '_', '-');
    flags.Add("--" + name, options.values[p], Number(parameter.range.text, parameter.range.has),
              parameter.help);
  }
}

// What each number of runs costs.
Status ReportEpsilons(const CountedKind& kind, const CountedOptions& options) {
  const CountedRelease release = kind.make(options.values);
  CommandReport report;
  report.title = TitleOf(kind, release);
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
      const auto bounds = accounting::GnmaxVotesRdp(options.votes, options.values[0], number);
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
  const CountedRelease release = kind.make(options.values);
  const std::string key = kind.counted;
  CommandReport report;
  report.title = TitleOf(kind, release);
  report.statements.push_back({key, release.statement});
  if (release.user_run) report.statements.push_back({"user_" + key, UserStatement(release)});
  const auto orders = accounting::DefaultOrders();
  for (const double epsilon : options.epsilons) {
    const accounting::EpsilonBound target = {epsilon, options.delta};
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

// Tokens are called answers in JSON.
std::string CountFlags(const CountedKind& kind) {
  const std::string counted = kind.counted;
  return counted == "answers" ? "--tokens,--answers" : "--" + counted;
}

void AddCost(CLI::App& account, Action& action, const CountedKind& kind) {
  CLI::App& command = *account.add_subcommand(kind.name, kind.summary);
  CountedOptions& options = SetAction<CountedOptions>(
      command, action, [&kind](const CountedOptions& of) { return ReportEpsilons(kind, of); });
  Flags flags(command);
  AddParameters(flags, kind, options);
  options.counts = {1, 10, 100, 1000, 10000};
  flags.Add(CountFlags(kind), options.counts, kCount, "One or more numbers of them");
  if (kind.name == std::string_view("gnmax")) {
    flags.Add("--votes", options.votes, kNonNegative,
              "Votes of each token: adds the data-dependent cost, which is private");
  }
  flags.Add("--delta", options.delta, kDelta, "Of the (epsilon, delta) conversion");
  if (kind.has_exact) flags.Add("--exact", options.exact, "Also by exact composition");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(std::string("Example: submix account ") + kind.name + " " + kind.example + " " +
                 CountFlags(kind).substr(0, CountFlags(kind).find(',')) + " 1,1000");
}

void AddPlan(CLI::App& plan, Action& action, const CountedKind& kind) {
  CLI::App& command = *plan.add_subcommand(kind.name, kind.summary);
  CountedOptions& options =
      SetAction<CountedOptions>(command, action, [&kind](const CountedOptions& of) {
        return of.epsilons.empty() ? ReportEpsilons(kind, of) : ReportCounts(kind, of);
      });
  Flags flags(command);
  AddParameters(flags, kind, options);
  CLI::App& question = *command.add_option_group("question", "one of the two");
  question.require_option(1);
  Flags(question).Add("--epsilon", options.epsilons, kNonNegative, "How many do these buy?");
  Flags(question).Add(CountFlags(kind), options.counts, kCount, "Which epsilon do these need?");
  flags.Add("--delta", options.delta, kDelta, "Of the (epsilon, delta) conversion");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(std::string("Example: submix account plan ") + kind.name + " " + kind.example +
                 " --epsilon 1,2,4,8");
}

}  // namespace

void AddCountedSubcommands(CLI::App& account, Action& action) {
  for (const CountedKind& kind : accounting::CountedKinds()) {
    if (!kind.is_only_planned) AddCost(account, action, kind);
  }
  CLI::App* const plan =
      account.add_subcommand("plan", "How many answers an epsilon buys, or which they need");
  plan->require_subcommand(1);
  plan->footer("Example: submix account plan dclip --parts 64 --clip 1.4 --epsilon 1,2,4,8");
  for (const CountedKind& kind : accounting::CountedKinds()) AddPlan(*plan, action, kind);
}

}  // namespace submix::apps
