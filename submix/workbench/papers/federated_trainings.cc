#include "submix/workbench/papers/federated_trainings.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/accounting/promise.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/log.h"
#include "submix/base/number_text.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/pages/html_page.h"
#include "submix/train/federated/federated_lstm.h"
#include "submix/train/federated/word_metrics.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;
using eval::FederatedEvaluation;
using eval::FederatedSetting;

// W_min of the true average: so little that it is never the divisor of a round with anybody in it.
constexpr double kNoWeight = 1e-6;

std::string Exactly(double number) { return base::NumberText(number, 17); }
std::string Exactly(std::integral auto number) { return std::to_string(number); }

// What a training has shown so far: a line an evaluation.
std::string EvaluationsFile(const std::string& directory) {
  return base::JoinPath(directory, "evaluations.txt");
}

StatusOr<std::vector<FederatedEvaluation>> LoadEvaluations(const std::string& directory) {
  std::vector<FederatedEvaluation> evaluations;
  if (!base::FileExists(EvaluationsFile(directory))) return evaluations;
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(EvaluationsFile(directory)));
  std::istringstream lines(text);
  std::string round, accuracy, smoothed, perplexity;
  while (lines >> round >> accuracy >> smoothed >> perplexity) {
    // Not every stream reads "nan" and "inf".
    evaluations.push_back({std::atoll(round.c_str()), std::strtod(accuracy.c_str(), nullptr),
                           std::strtod(smoothed.c_str(), nullptr),
                           std::strtod(perplexity.c_str(), nullptr)});
  }
  return evaluations;
}

// Replaces the file as a whole.
Status AddEvaluation(const FederatedEvaluation& evaluation, const std::string& directory,
                     std::vector<FederatedEvaluation>& evaluations) {
  evaluations.push_back(evaluation);
  std::string text;
  for (const auto& [round, accuracy, smoothed, perplexity] : evaluations) {
    text += Exactly(round) + " " + Exactly(accuracy) + " " + Exactly(smoothed) + " " +
            Exactly(perplexity) + "\n";
  }
  return base::WriteFile(EvaluationsFile(directory), text, 0600);
}

std::string Description(const FederatedSetting& setting) {
  std::string text = setting.is_fedsgd ? "FedSGD" : "FedAvg";
  text += ", " + eval::ShortNumber(setting.expected_users) + " users a round, " +
          std::to_string(setting.rounds) + " rounds";
  if (std::isfinite(setting.clip_norm)) text += ", S = " + eval::ShortNumber(setting.clip_norm);
  if (const double noise = NoiseDeviation(setting); noise > 0) {
    text += ", noise " + eval::ShortNumber(noise) +
            (setting.noise_multiplier > 0 ? " (private)" : " (simulated)");
  }
  return text;
}

// Trainings in a directory, each in one of its own that is named by what it is a function of.
class FederatedTrainings {
 public:
  explicit FederatedTrainings(FederatedRecipe recipe) : recipe_(std::move(recipe)) {}

  // Before anything else. Returns the number of users with enough words.
  StatusOr<double> Prepare(int words) {
    std::vector<std::string> files = {recipe_.corpus, recipe_.heldout};
    files.insert(files.end(), recipe_.public_text.begin(), recipe_.public_text.end());
    for (const std::string& file : files) {
      SUBMIX_ASSIGN_OR_RETURN(const auto digest, base::Sha256OfFile(file));
      sources_ += (sources_.empty() ? "" : " ") + base::ToHex(digest).substr(0, 16);
    }
    SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(recipe_.directory));
    SUBMIX_ASSIGN_OR_RETURN(const Texts* texts, LoadTexts(words));
    return static_cast<double>(texts->users.size());
  }

  StatusOr<eval::FederatedRun> Train(const FederatedSetting& setting) {
    SUBMIX_ASSIGN_OR_RETURN(Trained trained, TrainOrLoad(setting));
    return std::move(trained.run);
  }

  StatusOr<std::vector<eval::HeadWordCounts>> CountHeadWords(const FederatedSetting& setting) {
    SUBMIX_ASSIGN_OR_RETURN(const Trained trained, TrainOrLoad(setting));
    SUBMIX_ASSIGN_OR_RETURN(const Texts* texts, LoadTexts(setting.words));
    SUBMIX_ASSIGN_OR_RETURN(
        const auto histograms,
        train::CountHeadWords(texts->model.shape(), trained.parameters,
                              train::FirstWords(texts->heldout, train::kTable3Tokens),
                              train::kTable3Heads, std::max(1, recipe_.threads)));
    std::vector<eval::HeadWordCounts> counts;
    for (const train::HeadWordHistogram& histogram : histograms) {
      counts.push_back({histogram.head, histogram.counts});
    }
    return counts;
  }

 private:
  // The texts in the words of one dictionary.
  struct Texts {
    train::FederatedLstm model;
    std::string words_digest;
    train::TokenStreams users;
    train::TokenStreams heldout;
    std::vector<float> start;  // the model that trainings begin with; made when first needed
  };
  struct Trained {
    eval::FederatedRun run;
    std::vector<float> parameters;
  };

  // Counting words of much public text takes longer than small trainings: dictionaries are kept.
  StatusOr<train::WordVocabulary> LoadOrMakeVocabulary(int words) const {
    const std::string path = base::JoinPath(
        recipe_.directory, "words-" + std::to_string(words) + "-" +
                               base::ToHex(base::Sha256(sources_)).substr(0, 12) + ".txt");
    if (base::FileExists(path)) return train::WordVocabulary::Load(path);
    SUBMIX_ASSIGN_OR_RETURN(auto vocabulary,
                            train::WordVocabulary::FromPublicText(recipe_.public_text, words));
    SUBMIX_RETURN_IF_ERROR(vocabulary.Save(path));
    return vocabulary;
  }

  StatusOr<Texts*> LoadTexts(int words) {
    const auto loaded = texts_.find(words);
    if (loaded != texts_.end()) return &loaded->second;
    SUBMIX_ASSIGN_OR_RETURN(auto vocabulary, LoadOrMakeVocabulary(words));
    std::string digest = base::ToHex(base::Sha256(vocabulary.ToText())).substr(0, 16);
    train::WordLstmShape shape = recipe_.shape;
    shape.vocab_size = vocabulary.size();
    const train::FederatedLstm model(shape, std::move(vocabulary), recipe_.public_text,
                                     recipe_.public_words);
    const std::int64_t tokens = recipe_.tokens_per_user;
    SUBMIX_ASSIGN_OR_RETURN(auto users, model.ReadUsers(recipe_.corpus, {tokens, tokens}));
    if (users.empty()) {
      return base::InvalidArgumentError(recipe_.corpus + ": no user has " + std::to_string(tokens) +
                                        " words: lower --tokens-per-user");
    }
    SUBMIX_ASSIGN_OR_RETURN(auto heldout, model.ReadUsers(recipe_.heldout, {1, tokens}));
    heldout = train::FirstWords(std::move(heldout), recipe_.heldout_tokens);
    Texts texts = {model, std::move(digest), std::move(users), std::move(heldout), {}};
    return &texts_.emplace(words, std::move(texts)).first->second;
  }

  // What a training is a function of, and the directory's name.
  eval::NamedOptions OptionsOf(const FederatedSetting& setting, const Texts& texts) const {
    const train::LocalTraining& local = recipe_.local;
    eval::NamedOptions options = {
        {"files", sources_},
        {"dictionary", texts.words_digest},
        {"words", Exactly(setting.words)},
        {"users", Exactly(std::ssize(texts.users))},
        {"tokens_per_user", Exactly(recipe_.tokens_per_user)},
        {"heldout_tokens", Exactly(recipe_.heldout_tokens)},
        {"evaluate_every", Exactly(recipe_.evaluate_every)},
        {"public_words", Exactly(recipe_.public_words)},
        {"seed", Exactly(recipe_.seed)},
        {"width", Exactly(recipe_.shape.width)},
        {"units", Exactly(recipe_.shape.units)},
        {"algorithm", setting.is_fedsgd ? "fedsgd" : "fedavg"},
        {"learning_rate", Exactly(local.learning_rate)},
        {"local", Exactly(local.epochs) + " epochs, batches of " + Exactly(local.batch_size) +
                      " x " + Exactly(local.unroll)},
        {"rounds", Exactly(setting.rounds)},
        {"users_per_round", Exactly(setting.expected_users)},
        {"sample", setting.fixed_size_sample ? "fixed size" : "independent"},
        {"average", Exactly(static_cast<int>(setting.average))},
        {"clip_norm", Exactly(setting.clip_norm)},
        {"clipping", setting.per_layer ? "per-layer" : "flat"},
        {"noise_multiplier", Exactly(setting.noise_multiplier)},
        {"simulated_users", Exactly(setting.simulated_users)}};
    if (const auto earlier = EarlierSetting(setting)) {
      options.emplace_back("goes_on_from", DirectoryOf(OptionsOf(*earlier, texts)));
    }
    return options;
  }

  std::string DirectoryOf(const eval::NamedOptions& options) const {
    std::string text;
    for (const auto& [name, value] : options) text += name + " " + value + "\n";
    return base::ToHex(base::Sha256(text)).substr(0, 16);
  }

  // What a training begins with; any model of its size where it has begun.
  StatusOr<std::vector<float>> StartOf(const FederatedSetting& setting, Texts& texts,
                                       const std::string& directory) {
    if (base::FileExists(base::JoinPath(directory, "checkpoint.safetensors"))) {
      return std::vector<float>(texts.model.vectors().back().end);
    }
    if (const auto earlier = EarlierSetting(setting)) {
      SUBMIX_ASSIGN_OR_RETURN(Trained trained, TrainOrLoad(*earlier));
      return std::move(trained.parameters);
    }
    if (texts.start.empty()) {
      SUBMIX_ASSIGN_OR_RETURN(texts.start, texts.model.Start(recipe_.local, recipe_.seed));
    }
    return texts.start;
  }

  train::FederatedOptions TrainingOptions(const FederatedSetting& setting, double population,
                                          const std::string& directory) const {
    train::FederatedOptions options;
    options.directory = directory;
    options.local = recipe_.local;
    options.local.algorithm =
        setting.is_fedsgd ? train::FederatedAlgorithm::kFedSgd : train::FederatedAlgorithm::kFedAvg;
    options.clipping = {setting.clip_norm, setting.per_layer};
    options.estimator.clipped_divisor = setting.average != eval::UpdateAverage::kFixedDivisor;
    options.estimator.sampling_probability = std::min(1.0, setting.expected_users / population);
    options.estimator.weight =
        setting.average == eval::UpdateAverage::kTrue ? kNoWeight : population;
    options.noise_multiplier = setting.noise_multiplier;
    options.simulated.noise_of_clip = setting.simulated_users > 0 ? 1 / setting.simulated_users : 0;
    options.simulated.fixed_size_sample = setting.fixed_size_sample;
    options.full_weight_tokens = recipe_.tokens_per_user;
    options.rounds = setting.rounds;
    options.evaluate_every = recipe_.evaluate_every;
    options.delta = accounting::FedAvgDelta(population);
    options.threads = recipe_.threads;
    return options;
  }

  StatusOr<Trained> TrainOrLoad(const FederatedSetting& setting) {
    SUBMIX_ASSIGN_OR_RETURN(Texts* const texts, LoadTexts(setting.words));
    Trained trained;
    trained.run.options = OptionsOf(setting, *texts);
    const std::string name = DirectoryOf(trained.run.options);
    const std::string directory = base::JoinPath(recipe_.directory, name);
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<float> start, StartOf(setting, *texts, directory));
    std::vector<FederatedEvaluation>& evaluations = trained.run.evaluations;
    SUBMIX_ASSIGN_OR_RETURN(evaluations, LoadEvaluations(directory));
    const auto is_finished = [&] {
      return !evaluations.empty() && evaluations.back().round == setting.rounds;
    };
    if (!is_finished()) {
      base::Log(base::LogSeverity::kInfo, "training " + name + ": " + Description(setting));
    }
    const train::FederatedOptions options =
        TrainingOptions(setting, static_cast<double>(texts->users.size()), directory);
    // Whoever knows the noise has the sum: what is promised is drawn from the system. All else can
    // be drawn again, from where it stands.
    std::unique_ptr<base::RandomSource> random = base::MakeSystemRandomSource();
    if (!(setting.noise_multiplier > 0)) {
      const auto stands = base::Sha256OfFile(base::JoinPath(directory, "checkpoint.safetensors"));
      random = eval::RepeatableDraws(
          recipe_.seed, "federated " + name + (stands.ok() ? base::ToHex(*stands) : ""));
    }
    const train::FederatedData data = {&texts->model, start, texts->users, texts->heldout, name};
    SUBMIX_ASSIGN_OR_RETURN(
        train::FederatedResult result,
        TrainFederated(options, data, *random,
                       is_finished() ? base::ProgressStyle::kSilent : base::DetectProgressStyle(),
                       [&](const train::RoundReport& report) {
                         if (!report.heldout.has_value()) return base::OkStatus();
                         return AddEvaluation(
                             {report.round, report.heldout->accuracy_top1,
                              report.smoothed_accuracy_top1, report.heldout->perplexity},
                             directory, evaluations);
                       }));
    if (!is_finished()) {  // killed between the last checkpoint and its evaluation's line
      SUBMIX_ASSIGN_OR_RETURN(
          const train::PredictionMetrics metrics,
          texts->model.Evaluate(result.parameters, texts->heldout, std::max(1, recipe_.threads)));
      SUBMIX_RETURN_IF_ERROR(AddEvaluation(
          {setting.rounds, metrics.accuracy_top1, metrics.accuracy_top1, metrics.perplexity},
          directory, evaluations));
    }
    trained.parameters = std::move(result.parameters);
    if (result.statement.has_value()) {
      trained.run.promise = {result.epsilon, options.delta, PromiseOf(*result.statement)};
    }
    return trained;
  }

  const FederatedRecipe recipe_;
  std::string sources_;  // digests of the files
  std::map<int, Texts> texts_;
};

}  // namespace

StatusOr<FederatedModels> OpenFederatedModels(const FederatedRecipe& recipe, int words) {
  const auto trainings = std::make_shared<FederatedTrainings>(recipe);
  SUBMIX_ASSIGN_OR_RETURN(const double users, trainings->Prepare(words));
  return FederatedModels{
      {[trainings](const FederatedSetting& setting) { return trainings->Train(setting); },
       [trainings](const FederatedSetting& setting) { return trainings->CountHeadWords(setting); }},
      users};
}

}  // namespace submix::workbench
