// `submix fedavg`: one language model from users' text by DP-FedAvg or DP-FedSGD.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/shell_word.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/apps/training/process_ranks.h"
#include "submix/base/csv.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/base/processors.h"
#include "submix/model/decoder_config.h"
#include "submix/train/federated/client_updates.h"
#include "submix/train/federated/federated_lstm.h"
#include "submix/train/federated/federated_training.h"
#include "submix/train/federated/word_metrics.h"
#include "submix/train/recipes/training_recipe.h"
#include "submix/workbench/training/fedavg_model.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

// Where no flag says otherwise: of the LSTM, and of a public model's blocks.
struct LocalDefaults {
  int unroll;
  double learning_rate;
  double clip_norm;
};
constexpr LocalDefaults kLstmDefaults = {10, 2, 15};
constexpr LocalDefaults kDecoderDefaults = {128, 1, 0.5};

struct FedAvgCommandOptions {
  train::FederatedOptions training;
  workbench::FedAvgModelOptions model;
  AdapterFlags adapter;  // of a public model
  std::string loss = "answers";
  std::uint64_t seed = 1;
  corpus::CorpusFile corpus;
  std::string heldout;
  // Empty: nobody said.
  std::optional<int> unroll;
  std::optional<double> learning_rate;
  std::optional<double> clip_norm;
  std::optional<double> expected_users;
  std::optional<double> sampling_probability;
  std::optional<double> population;
  std::optional<double> minimum_weight;
  double delta = accounting::kDefaultDelta;
  std::string algorithm = "fedavg";
  std::string estimator = "fixed";
  std::string clipping = "flat";
  std::string schedule;
  std::int64_t tokens_per_user = 1600;
  bool keep_short_users = false;
  std::int64_t heldout_tokens = 75000;
  std::string csv;
  bool head_words = false;
  bool json = false;
};

// "4885:10,6000:8:1.2": from round 4885 on clip 10, from 6000 on clip 8 and noise 1.2.
StatusOr<std::vector<train::ScheduleChange>> ParseSchedule(const std::string& text) {
  std::vector<train::ScheduleChange> schedule;
  std::istringstream changes(text);
  for (std::string change; std::getline(changes, change, ',');) {
    std::istringstream fields(change);
    train::ScheduleChange parsed;
    char colon = 0;
    bool good =
        static_cast<bool>(fields >> parsed.round >> colon >> parsed.clip_norm) && colon == ':';
    double noise = 0;
    if (good && fields >> colon) {
      good = colon == ':' && static_cast<bool>(fields >> noise);
      parsed.noise_multiplier = noise;
    }
    if (!good || fields.rdbuf()->in_avail() > 0) {
      return base::InvalidArgumentError(
          "--schedule: expected ROUND:CLIP or ROUND:CLIP:NOISE, found " + change);
    }
    schedule.push_back(parsed);
  }
  return schedule;
}

void CompleteLocalTraining(FedAvgCommandOptions& options) {
  const bool is_decoder = !options.model.public_directory.empty();
  const LocalDefaults& defaults = is_decoder ? kDecoderDefaults : kLstmDefaults;
  train::LocalTraining& local = options.training.local;
  local.algorithm = options.algorithm == "fedsgd" ? train::FederatedAlgorithm::kFedSgd
                                                  : train::FederatedAlgorithm::kFedAvg;
  local.unroll = options.unroll.value_or(defaults.unroll);
  local.learning_rate = options.learning_rate.value_or(defaults.learning_rate);
  options.training.clipping.norm = options.clip_norm.value_or(defaults.clip_norm);
}

// Everybody's stream, or of those who have --tokens-per-user; says how many that leaves out.
StatusOr<train::TokenStreams> ReadTrainingUsers(const FedAvgCommandOptions& options,
                                                const train::FederatedModel& model) {
  SUBMIX_ASSIGN_OR_RETURN(train::TokenStreams users,
                          model.ReadUsers(options.corpus, {1, options.tokens_per_user}));
  if (options.keep_short_users) return users;
  const auto short_users = std::erase_if(users, [&](const std::vector<base::TokenId>& stream) {
    return std::ssize(stream) < options.tokens_per_user;
  });
  if (short_users == 0) return users;
  const std::string left_out = std::to_string(short_users) + " of " +
                               std::to_string(short_users + users.size()) +
                               " users have fewer than " + std::to_string(options.tokens_per_user) +
                               " tokens and are left out; --keep-short-users keeps them, a lower "
                               "--tokens-per-user more of them";
  if (users.empty()) return base::InvalidArgumentError(options.corpus.path + ": " + left_out);
  std::fprintf(stderr, "submix fedavg: %s\n", left_out.c_str());
  return users;
}

// What the numbers on the command line mean once the users are counted.
Status CompleteOptions(std::size_t num_users, FedAvgCommandOptions& options) {
  train::FederatedOptions& training = options.training;
  const double population = options.population.value_or(static_cast<double>(num_users));
  options.population = population;
  training.clipping.per_layer = options.clipping == "per-layer";
  training.estimator.clipped_divisor = options.estimator == "clipped";
  training.estimator.sampling_probability = options.expected_users
                                                ? *options.expected_users / population
                                                : options.sampling_probability.value();
  if (training.estimator.sampling_probability > 1) {
    return base::InvalidArgumentError(
        "--expected-users: " + base::NumberText(*options.expected_users) +
        " is more than the population of " + base::NumberText(population));
  }
  training.estimator.weight =
      training.estimator.clipped_divisor ? options.minimum_weight.value_or(population) : population;
  training.full_weight_tokens = options.tokens_per_user;
  training.delta = options.delta;
  SUBMIX_ASSIGN_OR_RETURN(training.schedule, ParseSchedule(options.schedule));
  return base::OkStatus();
}

std::string SourceOf(const FedAvgCommandOptions& options, const train::FederatedModel& model) {
  return model.Source() + " tokens " + std::to_string(options.tokens_per_user) +
         (options.keep_short_users ? " or fewer" : "") + " seed " + std::to_string(options.seed);
}

// A line a round. A run that goes on adds to the file.
class RoundFile {
 public:
  Status Open(const std::string& path) {
    if (path.empty()) return base::OkStatus();
    const bool is_new = !base::FileExists(path);
    stream_.open(path, std::ios::app);
    if (is_new) {
      stream_ << "round,users,epsilon,loss,accuracy_top1,accuracy_top3,accuracy_top5,perplexity,"
                 "accuracy_top1_smoothed\n";
    }
    return Check(path);
  }
  Status Write(const train::RoundReport& report) {
    if (!stream_.is_open()) return base::OkStatus();
    std::vector<std::string> fields = {
        std::to_string(report.round), std::to_string(report.users),
        std::isfinite(report.epsilon) ? base::NumberText(report.epsilon) : ""};
    const train::PredictionMetrics metrics = report.heldout.value_or(train::PredictionMetrics());
    for (const double number :
         {metrics.loss, metrics.accuracy_top1, metrics.accuracy_top3, metrics.accuracy_top5,
          metrics.perplexity, report.smoothed_accuracy_top1}) {
      fields.push_back(report.heldout ? base::NumberText(number) : "");
    }
    stream_ << base::CsvRow(fields) << std::flush;
    return Check("--csv");
  }

 private:
  Status Check(const std::string& what) {
    if (stream_) return base::OkStatus();
    return base::ResourceExhaustedError(what + ": cannot be written");
  }

  std::ofstream stream_;
};

Json ReportJson(const FedAvgCommandOptions& options, const train::FederatedResult& result,
                const std::optional<train::PredictionMetrics>& metrics, double population) {
  const train::FederatedOptions& training = options.training;
  Json report = {{"rounds", result.rounds},
                 {"rounds_charged", result.rounds_charged},
                 {"target_reached", result.target_reached},
                 {"population", population},
                 {"sampling_probability", training.estimator.sampling_probability},
                 {"weight", training.estimator.weight},
                 {"parameters", result.parameters.size()},
                 {"noise_multiplier", training.noise_multiplier},
                 {"delta", training.delta}};
  report["epsilon"] = std::isfinite(result.epsilon) ? Json(result.epsilon) : Json();
  if (metrics.has_value()) {
    report["heldout"] = {{"tokens", metrics->tokens},
                         {"loss", metrics->loss},
                         {"accuracy_top1", metrics->accuracy_top1},
                         {"accuracy_top3", metrics->accuracy_top3},
                         {"accuracy_top5", metrics->accuracy_top5},
                         {"perplexity", metrics->perplexity}};
  }
  report["model"] = base::JoinPath(training.directory, "model");
  if (!options.model.public_directory.empty() && training.noise_multiplier > 0) {
    report["released"] = base::JoinPath(training.directory, "released");
  }
  report["statement"] = "Nothing is promised to anybody: not private, no noise.\n";
  if (result.statement.has_value()) {
    const accounting::Promise promise = PromiseOf(*result.statement);
    report["promise"] = accounting::PromiseJson<Json>(promise);
    report["statement"] = promise.ToText();
  }
  return report;
}

void PrintForPeople(const Json& report, const std::string& what_now) {
  std::printf("%lld rounds, a population of %.15g users, %lld parameters%s\n",
              report["rounds"].get<long long>(), report["population"].get<double>(),
              report["parameters"].get<long long>(),
              report["target_reached"].get<bool>() ? "; the next round would pass --epsilon" : "");
  if (report.contains("heldout")) {
    const Json& heldout = report["heldout"];
    std::printf(
        "held out, %lld words: AccuracyTop1 %.2f %%, Top3 %.2f %%, Top5 %.2f %%, perplexity %.1f\n",
        heldout["tokens"].get<long long>(), 100 * heldout["accuracy_top1"].get<double>(),
        100 * heldout["accuracy_top3"].get<double>(), 100 * heldout["accuracy_top5"].get<double>(),
        heldout["perplexity"].get<double>());
  }
  if (report.contains("head_words")) {
    std::printf("of the first ten predictions 0, 1, … 10 are among the most frequent words:\n");
    for (const auto& [head, counts] : report["head_words"].items()) {
      std::printf("  %s: %s\n", head.c_str(), counts.dump().c_str());
    }
  }
  std::printf("%s", report["statement"].get<std::string>().c_str());
  const std::string caution =
      accounting::DeltaCaution(report["delta"].get<double>(), report["population"].get<double>());
  if (!caution.empty()) std::printf("%s\n", caution.c_str());
  std::printf("%s\n", what_now.c_str());
}

// Of all rounds that were charged. Where the noise changed, the least of it is said of all: no less
// than what they cost.
train::FederatedCost CostOf(const FedAvgCommandOptions& options,
                            const train::FederatedResult& result) {
  const train::FederatedOptions& training = options.training;
  train::FederatedCost cost = {{options.algorithm, true, training.estimator.sampling_probability,
                                training.noise_multiplier, result.rounds},
                               result.epsilon,
                               training.delta};
  if (!(training.noise_multiplier > 0)) return cost;
  cost.cost.mechanism = "dp-" + options.algorithm;
  cost.cost.steps = result.rounds_charged;
  for (const train::ScheduleChange& change : training.schedule) {
    if (change.noise_multiplier.has_value()) {
      cost.cost.noise_multiplier = std::min(cost.cost.noise_multiplier, *change.noise_multiplier);
    }
  }
  return cost;
}

std::string WhatNow(const FedAvgCommandOptions& options, const std::string& written) {
  if (options.model.public_directory.empty()) return "Wrote " + written;
  if (!(options.training.noise_multiplier > 0)) {
    return "Wrote " + written + ": trained without noise; it must not leave";
  }
  return "Wrote " + written +
         ": may be asked without limit and given away\n  Serve: submix deploy " +
         ShellWord(written) + " DEPLOYMENT --mechanism public" + DeltaFlag(options.delta);
}

// {"10": [places with none of the ten most frequent words among the first ten predictions, with
// one, …], …}.
StatusOr<Json> CountHeadWords(const train::FederatedModel& model, std::span<const float> parameters,
                              const train::TokenStreams& heldout, int threads) {
  // The flag goes with that model alone.
  const auto& lstm = dynamic_cast<const train::FederatedLstm&>(model);
  SUBMIX_ASSIGN_OR_RETURN(const auto histograms,
                          train::CountHeadWords(lstm.shape(), parameters,
                                                train::FirstWords(heldout, train::kTable3Tokens),
                                                train::kTable3Heads, threads));
  Json json;
  for (const train::HeadWordHistogram& histogram : histograms) {
    json[std::to_string(histogram.head)] = histogram.counts;
  }
  return json;
}

// Of a public model, which is adapted as `submix train` recommends.
Status CompleteModel(const AdapterFlags& adapter, workbench::FedAvgModelOptions& model) {
  if (model.public_directory.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(model.public_directory));
  const model::LoraConfig recipe = *train::RecommendedRecipe(config, {}).lora;
  SUBMIX_ASSIGN_OR_RETURN(model.lora, train::AdapterOf(adapter, recipe, config.layers));
  model.precision = train::PrecisionOf(adapter.precision);
  return base::OkStatus();
}

Status RunFedAvg(FedAvgCommandOptions options) {
  train::FederatedOptions& training = options.training;
  SUBMIX_RETURN_IF_ERROR(CompleteModel(options.adapter, options.model));
  options.model.directory = training.directory;
  options.model.loss = LossOf(options.loss);
  SUBMIX_ASSIGN_OR_RETURN(training.ranks, JoinRanks());
  if (training.threads == 0) training.threads = base::AvailableProcessors();
  SUBMIX_ASSIGN_OR_RETURN(const auto model,
                          workbench::MakeFedAvgModel(options.model, training.ranks));
  if (training.ranks != nullptr && !training.ranks->is_root()) {
    return ServeClientUpdates(*training.ranks, *model, training.threads);
  }
  SayGoesOnAtInterrupt();
  SUBMIX_ASSIGN_OR_RETURN(const train::TokenStreams users, ReadTrainingUsers(options, *model));
  train::TokenStreams heldout;
  if (!options.heldout.empty()) {
    corpus::CorpusFile others = options.corpus;
    others.path = options.heldout;
    SUBMIX_ASSIGN_OR_RETURN(heldout, model->ReadUsers(others, {1, options.tokens_per_user}));
    heldout = train::FirstWords(std::move(heldout), options.heldout_tokens);
  }
  CompleteLocalTraining(options);
  SUBMIX_RETURN_IF_ERROR(CompleteOptions(users.size(), options));
  std::vector<float> start(model->vectors().back().end);
  if (!base::FileExists(base::JoinPath(training.directory, "checkpoint.safetensors"))) {
    SUBMIX_ASSIGN_OR_RETURN(start, model->Start(training.local, options.seed));
  }
  RoundFile rounds;
  SUBMIX_RETURN_IF_ERROR(rounds.Open(options.csv));

  const train::FederatedData data = {model.get(), start, users, heldout, SourceOf(options, *model)};
  const auto random = base::MakeSystemRandomSource();
  std::optional<train::PredictionMetrics> metrics;
  SUBMIX_ASSIGN_OR_RETURN(const train::FederatedResult result,
                          TrainFederated(training, data, *random, base::DetectProgressStyle(),
                                         [&](const train::RoundReport& report) {
                                           metrics = report.heldout;
                                           return rounds.Write(report);
                                         }));
  if (!metrics.has_value() && !heldout.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(metrics, model->Evaluate(result.parameters, heldout, training.threads));
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const std::string written,
      model->Save(result.parameters, CostOf(options, result), training.directory));
  Json report = ReportJson(options, result, metrics, options.population.value());
  if (options.head_words && !heldout.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(report["head_words"],
                            CountHeadWords(*model, result.parameters, heldout, training.threads));
  }
  if (options.json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    PrintForPeople(report, WhatNow(options, written));
  }
  return base::OkStatus();
}

void AddDataFlags(Flags flags, FedAvgCommandOptions& options) {
  flags.Require("output", options.training.directory,
                "Directory to make, or to go on with: checkpoint, training/ (the ledger), model/; "
                "of a public model also released/, what may leave (without noise not_private/)");
  RequireCorpus(flags, "--corpus", "Private text", options.corpus);
  flags.Add("--heldout", options.heldout, kFile, "Text of other users, as --corpus");
  flags.Add("--heldout-tokens", options.heldout_tokens, kPositive,
            "Words (tokens) of it that are scored");
  flags.Add("--tokens-per-user", options.tokens_per_user, kPositive,
            "Users with fewer are dropped, others cut to exactly so many");
  flags.Add("--keep-short-users", options.keep_short_users,
            "Keep users with n fewer tokens, at weight n / --tokens-per-user");
}

void AddModelFlags(CLI::App& command, FedAvgCommandOptions& options) {
  workbench::FedAvgModelOptions& model = options.model;
  CLI::App& kinds = *command.add_option_group("model", "an LSTM from nothing, or a public model");
  kinds.require_option(1);
  CLI::Option* const public_text = Flags(kinds).Add(
      "--public-text", model.public_text, kFile,
      "A word-level LSTM, its dictionary counted in this public text (.txt, .txt.xz)");
  public_text->delimiter('\0');
  CLI::Option* const public_model = Flags(kinds).Add(
      "--public", model.public_directory, kDirectory,
      "This public model, in Hugging Face's layout: adapters, or with --full all weights");
  CLI::App& lstm = *command.add_option_group("LSTM", "with --public-text");
  Flags lstm_flags(lstm);
  lstm_flags.Add("--words", model.words, kPositive, "Size of the dictionary");
  lstm_flags.Add("--width", model.shape.width, kPositive, "Of the embedding");
  lstm_flags.Add("--units", model.shape.units, kPositive, "LSTM cells");
  lstm_flags.Add("--public-words", model.public_words, kNonNegative,
                 "Begin with a pass over so many words of --public-text; 0 = a random model");
  lstm_flags.Add("--head-words", options.head_words,
                 "How many of the first ten predictions are among the most frequent words");
  for (CLI::Option* option : lstm.get_options()) option->needs(public_text);
  CLI::App& adapters = *command.add_option_group("adapters", "with --public");
  AddAdapterFlags(adapters, options.adapter, "as `submix train`");
  AddLossFlag(adapters, options.loss, options.loss, "learns");
  for (CLI::Option* option : adapters.get_options()) option->needs(public_model);
  Flags(command).Add("--seed", options.seed,
                     "Of the random model, or adapter, that all users begin with");
}

void AddLocalFlags(Flags flags, FedAvgCommandOptions& options) {
  train::LocalTraining& local = options.training.local;
  flags.Add("--algorithm", options.algorithm, OneOf({"fedavg", "fedsgd"}),
            "fedavg: each user trains a little; fedsgd: each sends one gradient");
  flags.Add("--learning-rate", options.learning_rate, kPositive,
            "A user's; default: 2, with --public 1; the paper's 6 needs clipping from the first "
            "round on");
  flags.Add("--epochs", local.epochs, kPositive, "A user's passes over the own text (fedavg)");
  flags.Add("--batch-size", local.batch_size, kPositive, "A user's rows a step");
  flags.Add("--unroll", options.unroll, kPositive,
            "Words (tokens) a row and step; default: 10, with --public 128");
}

void AddPrivacyFlags(CLI::App& command, FedAvgCommandOptions& options) {
  train::FederatedOptions& training = options.training;
  CLI::App& sampling = *command.add_option_group("sampling", "who takes part in a round");
  sampling.require_option(1);
  Flags sampling_flags(sampling);
  sampling_flags.Add("--sampling-probability", options.sampling_probability, kProbability,
                     "Each user's, in each round, independently");
  sampling_flags.Add("--expected-users", options.expected_users, kPositive,
                     "The same as a number of users: probability times population");
  Flags flags(command);
  flags.Add(
      "--population", options.population, kPositive,
      "A public number of users, fixed beforehand; default: those found, which is then public");
  flags.Add("--estimator", options.estimator, OneOf({"fixed", "clipped"}),
            "Of the average update. fixed: divide by q W; clipped: by max(q W_min, the weights of "
            "those who took part), which costs twice the noise");
  flags.Add("--minimum-weight", options.minimum_weight, kPositive,
            "W_min of --estimator clipped; default: the population");
  flags.Add("--clip", options.clip_norm,
            Number("a number above 0", [](double value) { return value > 0; }),
            "Norm S of a user's whole update; default: 15, with --public 0.5; inf: none");
  flags.Add("--clipping", options.clipping, OneOf({"flat", "per-layer"}),
            "flat: the whole update; per-layer: each of the m vectors to S / sqrt(m)");
  flags.Add("--noise", training.noise_multiplier, kNonNegative,
            "z: noise of z times the average's sensitivity; 0: no privacy, for baselines");
  flags.Add("--schedule", options.schedule,
            "ROUND:CLIP[:NOISE],…: other values from that round on");
  flags.Add("--delta", options.delta, kDelta, "Of epsilon; well below 1 / population");
  flags.Add("--epsilon", training.target_epsilon, kPositive,
            "Stop before the round that would pass it; fixed by the first run");
}

}  // namespace

void AddFedavgCommand(CLI::App& command, Action& action) {
  FedAvgCommandOptions& options = SetAction<FedAvgCommandOptions>(command, action, RunFedAvg);
  Flags flags(command);
  train::FederatedOptions& training = options.training;
  training.rounds = 100;
  AddDataFlags(flags, options);
  AddModelFlags(command, options);
  AddLocalFlags(flags, options);
  AddPrivacyFlags(command, options);
  flags.Add("--rounds", training.rounds, kPositive, "Rounds in all; more in a later run goes on");
  flags.Add("--evaluate-every", training.evaluate_every, kPositive, "Rounds between evaluations");
  flags.Add("--threads", training.threads, kNonNegative,
            "Users trained at once; 0 = one a processor; any number gives the same model");
  flags.Add("--csv", options.csv, kOutputFile,
            "A line a round; its column `users` is private: for the operator");
  flags.Add("--json", options.json, "The result as one JSON object");
  command.footer(
      "Algorithm 1 of McMahan et al. 2018. In each round every user takes part with the same\n"
      "small probability, trains the shared model on the own text, and sends the change,\n"
      "clipped to norm S. The model moves by the average plus noise. What is promised to each\n"
      "user, present or absent, is printed with every epsilon: docs/privacy.md, Theorem 13. The\n"
      "price falls with --noise and with a smaller share of users a round;\n"
      "`submix account fedavg` says it before.\n"
      "Interrupted? Run the same command again: rounds that were charged stay charged.\n"
      "mpirun -n R submix fedavg … spreads the users of a round over R processes; the model\n"
      "is the same: docs/private_training.md.\n"
      "The paper: --learning-rate 6, else the defaults (10,000 words, 1,600 tokens a user in\n"
      "batches of 8 times 10, one epoch); 763,430 users, --expected-users 5000 --clip 15\n"
      "--noise 1\n"
      "Example: submix fedavg out --corpus blogs.jsonl.xz --public-text wiki.txt.xz \\\n"
      "             --heldout others.jsonl.xz --expected-users 100 --noise 1 --csv out.csv\n"
      "         submix fedavg out --corpus blogs.jsonl.xz --public gpt2 \\\n"
      "             --expected-users 500 --rounds 50");
}

}  // namespace submix::apps
