// `submix account`: what releases cost, without a model or a ledger.
#include <string>
#include <vector>

#include "submix/accounting/calculators/counted_release.h"
#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/accounting/calculators/extraction_bound.h"
#include "submix/accounting/calculators/group_privacy.h"
#include "submix/accounting/calculators/pmixed_target.h"
#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/user_level.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"

namespace submix::apps {
namespace {

using accounting::Adjacency;
using accounting::ConversionKind;
using accounting::PrivacyStatement;
using accounting::PrivacyUnit;
using accounting::RdpBound;
using base::Status;
using base::StatusOr;
using divergence::RenyiOrder;
using Json = nlohmann::ordered_json;

// --- fedavg

struct FedAvgOptions {
  accounting::FedAvgSettings settings = {763430, 5000, 1, 5000, 1e-9};
  std::vector<double> rounds = {5000};
  int table = 0;
  bool json = false;
};

StatusOr<Json> FedAvgTable1Rows() {
  Json rows = Json::array();
  for (accounting::FedAvgSettings settings : accounting::FedAvgTable1()) {
    Json epsilons = Json::array();
    for (const std::int64_t rounds : accounting::kTable1Rounds) {
      settings.rounds = rounds;
      SUBMIX_ASSIGN_OR_RETURN(const double epsilon, FedAvgEpsilon(settings));
      epsilons.push_back(epsilon);
    }
    rows.push_back(Json{{"users", settings.num_users},
                        {"users_per_round", settings.users_per_round},
                        {"noise_multiplier", settings.noise_multiplier},
                        {"delta", settings.delta},
                        {"epsilon", epsilons}});
  }
  return rows;
}

StatusOr<Json> FedAvgTable2Rows() {
  Json rows = Json::array();
  for (const accounting::FedAvgTable2Row& row : accounting::FedAvgTable2()) {
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, FedAvgEpsilon(row.settings));
    rows.push_back(Json{{"noise_stddev", row.noise_stddev},
                        {"clip_norm", row.clip_norm},
                        {"users", row.settings.num_users},
                        {"users_per_round", row.settings.users_per_round},
                        {"delta", row.settings.delta},
                        {"epsilon", epsilon}});
  }
  return rows;
}

StatusOr<Json> FedAvgRows(const FedAvgOptions& options) {
  Json rows = Json::array();
  accounting::FedAvgSettings settings = options.settings;
  for (const double rounds : options.rounds) {
    settings.rounds = static_cast<std::int64_t>(rounds);
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, FedAvgEpsilon(settings));
    SUBMIX_ASSIGN_OR_RETURN(const auto best, FedAvgBestEpsilon(settings));
    rows.push_back(Json{{"rounds", settings.rounds},
                        {"epsilon", epsilon},
                        {"improved_epsilon", best.epsilon},
                        {"improved_order", OrderJson(best.order)},
                        {"delta", settings.delta}});
  }
  return rows;
}

Status RunFedAvg(const FedAvgOptions& options) {
  CommandReport report;
  report.title = options.table == 1   ? "DP-FedAvg, Table 1: after 1, 10, ..., 1,000,000 rounds"
                 : options.table == 2 ? "DP-FedAvg, Table 2: noise multiplier 1, 5,000 rounds"
                                      : "DP-FedAvg: rounds of clipped updates with Gaussian noise";
  report.statements = {{"epsilon", accounting::FedAvgStatement(ConversionKind::kClassic)}};
  if (options.table == 0) {
    report.statements.push_back(
        {"improved_epsilon", accounting::FedAvgStatement(ConversionKind::kImproved)});
  }
  SUBMIX_ASSIGN_OR_RETURN(report.rows, options.table == 1   ? FedAvgTable1Rows()
                                       : options.table == 2 ? FedAvgTable2Rows()
                                                            : FedAvgRows(options));
  PrintReport(report, options.json);
  return base::OkStatus();
}

void AddFedAvg(CLI::App& account, Action& action) {
  CLI::App& command = *account.add_subcommand("fedavg", "Rounds of DP-FedAvg or DP-FedSGD");
  FedAvgOptions& options = SetAction<FedAvgOptions>(command, action, RunFedAvg);
  Flags flags(command);
  flags.Add("--users", options.settings.num_users, kPositive, "Number of users K");
  flags.Add("--users-per-round", options.settings.users_per_round, kPositive,
            "Expected number in a round; each takes part independently");
  flags.Add("--noise-multiplier", options.settings.noise_multiplier, kNonNegative,
            "Noise, in units of the average's sensitivity");
  flags.Add("--rounds", options.rounds, kCount, "One or more numbers of rounds");
  flags.Add("--delta", options.settings.delta, kDelta, "Of the conversions");
  flags.Add("--table", options.table, Between(0, 2), "Instead, the paper's Table 1 or 2");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "Example: submix account fedavg --users 1e6 --users-per-round 1000 --rounds 100,1000");
}

// --- pmixed

struct PmixedOptions {
  accounting::PmixedSettings settings;
  bool json = false;
};

Status RunPmixed(const PmixedOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto targets, PmixedTarget(options.settings));
  CommandReport report;
  report.title =
      "PMixED as published: beta for each number of parts drawn, ball radius beta times the order";
  for (int drawn = 1; drawn <= options.settings.num_parts; ++drawn) {
    report.rows.push_back(Json{{"parts_drawn", drawn},
                               {"beta", targets.beta[drawn]},
                               {"largest_rdp", targets.rdp_per_answer},
                               {"order", options.settings.order},
                               {"epsilon", options.settings.epsilon},
                               {"delta", options.settings.delta}});
  }
  report.statements = {{"epsilon", accounting::PmixedStatement()}};
  PrintReport(report, options.json);
  return base::OkStatus();
}

void AddPmixed(CLI::App& account, Action& action) {
  CLI::App& command = *account.add_subcommand("pmixed", "PMixED's targets as published (research)");
  PmixedOptions& options = SetAction<PmixedOptions>(command, action, RunPmixed);
  Flags flags(command);
  accounting::PmixedSettings& settings = options.settings;
  flags.Add("--epsilon", settings.epsilon, kPositive, "Over all tokens");
  flags.Add("--delta", settings.delta, kDelta, "Of the conversion");
  flags.Add("--tokens,--answers", settings.answers, kCount, "Fixed beforehand");
  flags.Add("--sampling-probability", settings.sampling_probability, kProbability,
            "With which each part is drawn");
  flags.Add("--parts", settings.num_parts, CLI::Range(1, 4096), "Number of parts");
  flags.Add("--order", settings.order, CLI::Range(2, 1024), "Integer Renyi order");
  flags.Add("--json", options.json, "One JSON object");
  command.footer("Example: submix account pmixed --epsilon 8 --tokens 1024 --order 3");
}

// --- convert, extraction

struct BoundOptions {
  std::string order = "2";
  double rdp = 2;
  double epsilon = -1;
  double rho = -1;
  double delta = accounting::kDefaultDelta;
  std::vector<double> candidates = {1e3, 1e5, 1e9};
  double holders = 1;
  bool json = false;
};

PrivacyStatement Given(PrivacyUnit unit, Adjacency adjacency) {
  return accounting::ProvenStatement(unit, adjacency, "if the bound given is");
}

StatusOr<Json> ConversionRow(const char* unit, const RdpBound& bound, const char* rdp_name,
                             double delta) {
  SUBMIX_ASSIGN_OR_RETURN(const double classic,
                          EpsilonForDelta(bound, delta, ConversionKind::kClassic));
  SUBMIX_ASSIGN_OR_RETURN(const double improved,
                          EpsilonForDelta(bound, delta, ConversionKind::kImproved));
  return Json{{"unit", unit},        {"order", OrderJson(bound.order)},
              {rdp_name, bound.rdp}, {"classic_epsilon", classic},
              {"epsilon", improved}, {"delta", delta}};
}

Status RunConvert(const BoundOptions& options) {
  CommandReport report;
  report.statements = {{"part", Given(PrivacyUnit::kPart, Adjacency::kNull)}};
  if (options.rho >= 0) {
    report.title = "zCDP: rho times the order at every order";
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon,
                            accounting::EpsilonForZcdp(options.rho, options.delta));
    report.rows.push_back(
        Json{{"rho", options.rho}, {"epsilon", epsilon}, {"delta", options.delta}});
    PrintReport(report, options.json);
    return base::OkStatus();
  }
  SUBMIX_ASSIGN_OR_RETURN(const RenyiOrder order, RenyiOrder::Parse(options.order));
  RdpBound part = {order, options.rdp};
  if (options.epsilon >= 0) {
    SUBMIX_ASSIGN_OR_RETURN(part.rdp, RdpForEpsilon(order, {options.epsilon, options.delta},
                                                    ConversionKind::kImproved));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto level, accounting::UserLevelFromPartOrder(order));
  const RdpBound user = {level.order, level.factor * part.rdp};
  report.title = "From Renyi divergence to (epsilon, delta), at this order alone";
  // Asked from an epsilon it is what the divergence may be.
  const char* const rdp_name = options.epsilon >= 0 ? "largest_rdp" : "rdp";
  SUBMIX_ASSIGN_OR_RETURN(Json part_row, ConversionRow("part", part, rdp_name, options.delta));
  SUBMIX_ASSIGN_OR_RETURN(Json user_row, ConversionRow("user key", user, rdp_name, options.delta));
  report.rows = {part_row, user_row};
  report.statements.push_back({"user_key", Given(PrivacyUnit::kUserKey, Adjacency::kReplace)});
  PrintReport(report, options.json);
  return base::OkStatus();
}

Status RunExtraction(const BoundOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const RenyiOrder order, RenyiOrder::Parse(options.order));
  SUBMIX_ASSIGN_OR_RETURN(
      const RdpBound group,
      accounting::GroupBound({order, options.rdp}, accounting::DoublingsFor(options.holders)));
  CommandReport report;
  report.title = "Text extraction: how often the least lucky of the candidates is guessed, at most";
  for (const double candidates : options.candidates) {
    report.rows.push_back(
        Json{{"candidates", candidates},
             {"order", OrderJson(group.order)},
             {"rdp", group.rdp},
             {"success", accounting::RenyiExtractionBound(group, candidates)},
             {"success_fano", accounting::FanoExtractionBound(group.rdp, candidates)}});
  }
  report.statements = {{"success", Given(PrivacyUnit::kPart, Adjacency::kNull)},
                       {"success_fano", Given(PrivacyUnit::kPart, Adjacency::kReplace)}};
  PrintReport(report, options.json);
  return base::OkStatus();
}

void AddConvert(CLI::App& account, Action& action) {
  CLI::App& command =
      *account.add_subcommand("convert", "Between Renyi divergence and (epsilon, delta)");
  BoundOptions& options = SetAction<BoundOptions>(command, action, RunConvert);
  Flags flags(command);
  flags.Add("--order", options.order, "Renyi order of the bound, in (1, inf]");
  CLI::App& given = *command.add_option_group("given", "one of the three");
  given.require_option(0, 1);
  Flags(given).Add("--rdp", options.rdp, kNonNegative, "Nats at the order");
  Flags(given).Add("--epsilon", options.epsilon, kNonNegative, "The target: which nats may it be?");
  Flags(given).Add("--rho", options.rho, kNonNegative, "zCDP: rho times the order at every order");
  flags.Add("--delta", options.delta, kDelta, "Of the conversions");
  flags.Add("--json", options.json, "One JSON object");
  command.footer("Example: submix account convert --order 8 --rdp 2 --delta 1e-6");
}

void AddExtraction(CLI::App& account, Action& action) {
  CLI::App& command = *account.add_subcommand("extraction", "How well a secret can be guessed");
  BoundOptions& options = SetAction<BoundOptions>(command, action, RunExtraction);
  Flags flags(command);
  flags.Add("--order", options.order, "Renyi order of the bound, in (1, inf]");
  flags.Add("--rdp", options.rdp, kNonNegative, "Nats at the order");
  flags.Add("--candidates", options.candidates, kCount, "Values that the secret may have");
  flags.Add("--holders", options.holders, kCount,
            "Units that hold it; the bound is for the next power of two of them");
  flags.Add("--json", options.json, "One JSON object");
  command.footer("Example: submix account extraction --order 8 --rdp 2 --candidates 1e5,1e9");
}

}  // namespace

void AddAccountCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddCountedSubcommands(command, action);
  AddFedAvg(command, action);
  AddPmixed(command, action);
  AddConvert(command, action);
  AddExtraction(command, action);
  command.footer(
      "Formulas, sources and assumptions: docs/accounting.md. Needs no model and no ledger.\n"
      "Example: submix account plan dclip --parts 64 --clip 1.4 --epsilon 1,2,4,8");
}

}  // namespace submix::apps
