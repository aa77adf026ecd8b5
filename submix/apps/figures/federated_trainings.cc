#include "submix/apps/figures/federated_trainings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "submix/accounting/dp_fedavg.h"
#include "submix/accounting/promise.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/pages/html_page.h"
#include "submix/train/federated/federated_lstm.h"
#include "submix/train/federated/public_start.h"
#include "submix/train/federated/user_words.h"
#include "submix/train/federated/word_metrics.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using eval::FederatedEvaluation;
using eval::FederatedSetting;

// W_min of the true average: so little that it is never the divisor of a round with anybody in it.
constexpr double kNoWeight = 1e-6;

std::string Exactly(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string Exactly(std::int64_t number) { return std::to_string(number); }

StatusOr<std::string> DigestOf(const std::string& file) {
  SUBMIX_ASSIGN_OR_RETURN(const auto digest, base::Sha256OfFile(file));
  return base::ToHex(digest).substr(0, 16);
}

std::string DigestOfWords(const train::WordVocabulary& vocabulary) {
  return base::ToHex(base::Sha256(vocabulary.ToText())).substr(0, 16);
}

// What a training has shown so far: a line an evaluation, the file replaced as a whole.
class EvaluationFile {
 public:
  explicit EvaluationFile(const std::string& directory)
      : path_(base::JoinPath(directory, "evaluations.txt")) {}

  Status Load() {
    if (!base::FileExists(path_)) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path_));
    std::istringstream lines(text);
    std::string accuracy, smoothed, perplexity;
    FederatedEvaluation evaluation;
    while (lines >> evaluation.round >> accuracy >> smoothed >> perplexity) {
      // Not every stream reads "nan" and "inf".
      evaluation.accuracy_top1 = std::strtod(accuracy.c_str(), nullptr);
      evaluation.smoothed_accuracy_top1 = std::strtod(smoothed.c_str(), nullptr);
      evaluation.perplexity = std::strtod(perplexity.c_str(), nullptr);
      evaluations_.push_back(evaluation);
    }
    return base::OkStatus();
  }

  Status Add(const FederatedEvaluation& evaluation) {
    evaluations_.push_back(evaluation);
    std::string text;
    for (const FederatedEvaluation& each : evaluations_) {
      text += Exactly(each.round) + " " + Exactly(each.accuracy_top1) + " " +
              Exactly(each.smoothed_accuracy_top1) + " " + Exactly(each.perplexity) + "\n";
    }
    return base::WriteFile(path_, text, 0600);
  }

  const std::vector<FederatedEvaluation>& evaluations() const { return evaluations_; }

 private:
  const std::string path_;
  std::vector<FederatedEvaluation> evaluations_;
};

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

}  // namespace

Status FederatedTrainings::Prepare() {
  SUBMIX_ASSIGN_OR_RETURN(const std::string corpus, DigestOf(recipe_.corpus));
  SUBMIX_ASSIGN_OR_RETURN(const std::string heldout, DigestOf(recipe_.heldout));
  sources_ = corpus + " " + heldout;
  for (const std::string& file : recipe_.public_text) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string digest, DigestOf(file));
    sources_ += " " + digest;
  }
  return base::MakeDirectories(recipe_.directory);
}

// Counting words of much public text takes longer than small trainings: dictionaries are kept.
StatusOr<train::WordVocabulary> FederatedTrainings::LoadOrMakeVocabulary(int words) const {
  const std::string path = base::JoinPath(
      recipe_.directory, "words-" + std::to_string(words) + "-" +
                             base::ToHex(base::Sha256(sources_)).substr(0, 12) + ".txt");
  if (base::FileExists(path)) return train::WordVocabulary::Load(path);
  SUBMIX_ASSIGN_OR_RETURN(auto vocabulary,
                          train::WordVocabulary::FromPublicText(recipe_.public_text, words));
  SUBMIX_RETURN_IF_ERROR(vocabulary.Save(path));
  return vocabulary;
}

StatusOr<FederatedTrainings::Texts*> FederatedTrainings::LoadTexts(int words) {
  const auto loaded = texts_.find(words);
  if (loaded != texts_.end()) return &loaded->second;
  SUBMIX_ASSIGN_OR_RETURN(auto vocabulary, LoadOrMakeVocabulary(words));
  const std::int64_t tokens = recipe_.tokens_per_user;
  SUBMIX_ASSIGN_OR_RETURN(auto users,
                          train::ReadUserWords(recipe_.corpus, vocabulary, {tokens, tokens}));
  if (users.empty()) {
    return base::InvalidArgumentError(recipe_.corpus + ": no user has " + std::to_string(tokens) +
                                      " words: lower --tokens-per-user");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto heldout,
                          train::ReadUserWords(recipe_.heldout, vocabulary, {1, tokens}));
  heldout = train::FirstWords(std::move(heldout), recipe_.heldout_tokens);
  std::string digest = DigestOfWords(vocabulary);
  return &texts_
              .emplace(words, Texts{std::move(vocabulary),
                                    std::move(digest),
                                    std::move(users),
                                    std::move(heldout),
                                    {}})
              .first->second;
}

StatusOr<double> FederatedTrainings::CountUsers(int words) {
  SUBMIX_ASSIGN_OR_RETURN(const Texts* texts, LoadTexts(words));
  return static_cast<double>(texts->users.size());
}

eval::NamedOptions FederatedTrainings::OptionsOf(const FederatedSetting& setting,
                                                 const Texts& texts) const {
  const train::LocalTraining& local = recipe_.local;
  eval::NamedOptions options = {
      {"files", sources_},
      {"dictionary", texts.words_digest},
      {"words", Exactly(std::int64_t{setting.words})},
      {"users", Exactly(std::ssize(texts.users))},
      {"tokens_per_user", Exactly(recipe_.tokens_per_user)},
      {"heldout_tokens", Exactly(recipe_.heldout_tokens)},
      {"evaluate_every", Exactly(recipe_.evaluate_every)},
      {"public_words", Exactly(recipe_.public_words)},
      {"seed", std::to_string(recipe_.seed)},
      {"width", Exactly(std::int64_t{recipe_.shape.width})},
      {"units", Exactly(std::int64_t{recipe_.shape.units})},
      {"algorithm", setting.is_fedsgd ? "fedsgd" : "fedavg"},
      {"learning_rate", Exactly(local.learning_rate)},
      {"local", Exactly(std::int64_t{local.epochs}) + " epochs, batches of " +
                    Exactly(std::int64_t{local.batch_size}) + " x " +
                    Exactly(std::int64_t{local.unroll})},
      {"rounds", Exactly(setting.rounds)},
      {"users_per_round", Exactly(setting.expected_users)},
      {"sample", setting.fixed_size_sample ? "fixed size" : "independent"},
      {"average", Exactly(std::int64_t{static_cast<int>(setting.average)})},
      {"clip_norm", Exactly(setting.clip_norm)},
      {"clipping", setting.per_layer ? "per-layer" : "flat"},
      {"noise_multiplier", Exactly(setting.noise_multiplier)},
      {"simulated_users", Exactly(setting.simulated_users)}};
  if (const auto earlier = EarlierSetting(setting)) {
    options.emplace_back("goes_on_from", DirectoryOf(OptionsOf(*earlier, texts)));
  }
  return options;
}

std::string FederatedTrainings::DirectoryOf(const eval::NamedOptions& options) const {
  std::string text;
  for (const auto& [name, value] : options) text += name + " " + value + "\n";
  return base::ToHex(base::Sha256(text)).substr(0, 16);
}

Status FederatedTrainings::MakeStart(Texts& texts) const {
  if (!texts.start.empty()) return base::OkStatus();
  train::WordLstmShape shape = recipe_.shape;
  shape.vocab_size = texts.vocabulary.size();
  std::vector<float> parameters = InitialWordLstm(shape, recipe_.seed);
  if (recipe_.public_words > 0) {
    SUBMIX_ASSIGN_OR_RETURN(
        const auto words,
        train::ReadPublicWords(recipe_.public_text, texts.vocabulary, recipe_.public_words));
    SUBMIX_RETURN_IF_ERROR(train::TrainOnPublicWords(shape, recipe_.local, words, parameters,
                                                     base::DetectProgressStyle()));
  }
  texts.start = std::move(parameters);
  return base::OkStatus();
}

StatusOr<std::vector<float>> FederatedTrainings::StartOf(const FederatedSetting& setting,
                                                         Texts& texts,
                                                         const std::string& directory) {
  if (base::FileExists(base::JoinPath(directory, "checkpoint.safetensors"))) {
    train::WordLstmShape shape = recipe_.shape;
    shape.vocab_size = texts.vocabulary.size();
    return std::vector<float>(WordLstmVectors(shape).back().end);
  }
  if (const auto earlier = EarlierSetting(setting)) {
    SUBMIX_ASSIGN_OR_RETURN(Trained trained, TrainOrLoad(*earlier));
    return std::move(trained.parameters);
  }
  SUBMIX_RETURN_IF_ERROR(MakeStart(texts));
  return texts.start;
}

train::FederatedOptions FederatedTrainings::TrainingOptions(const FederatedSetting& setting,
                                                            double population,
                                                            const std::string& directory) const {
  train::FederatedOptions options;
  options.directory = directory;
  options.local = recipe_.local;
  options.local.algorithm =
      setting.is_fedsgd ? train::FederatedAlgorithm::kFedSgd : train::FederatedAlgorithm::kFedAvg;
  options.clipping = {setting.clip_norm, setting.per_layer};
  options.estimator.clipped_divisor = setting.average != eval::UpdateAverage::kFixedDivisor;
  options.estimator.sampling_probability = std::min(1.0, setting.expected_users / population);
  options.estimator.weight = setting.average == eval::UpdateAverage::kTrue ? kNoWeight : population;
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

StatusOr<FederatedTrainings::Trained> FederatedTrainings::TrainOrLoad(
    const FederatedSetting& setting) {
  SUBMIX_ASSIGN_OR_RETURN(Texts* const texts, LoadTexts(setting.words));
  Trained trained;
  trained.run.options = OptionsOf(setting, *texts);
  const std::string name = DirectoryOf(trained.run.options);
  const std::string directory = base::JoinPath(recipe_.directory, name);
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<float> start, StartOf(setting, *texts, directory));
  EvaluationFile file(directory);
  SUBMIX_RETURN_IF_ERROR(file.Load());
  const auto is_finished = [&] {
    return !file.evaluations().empty() && file.evaluations().back().round == setting.rounds;
  };
  if (!is_finished()) {
    std::fprintf(stderr, "training %s: %s\n", name.c_str(), Description(setting).c_str());
  }
  const train::FederatedOptions options =
      TrainingOptions(setting, static_cast<double>(texts->users.size()), directory);
  train::WordLstmShape shape = recipe_.shape;
  shape.vocab_size = texts->vocabulary.size();
  // Whoever knows the noise has the sum: what is promised is drawn from the system. All else can be
  // drawn again, from where it stands.
  std::unique_ptr<base::RandomSource> random = base::MakeSystemRandomSource();
  if (!(setting.noise_multiplier > 0)) {
    const auto stands = base::Sha256OfFile(base::JoinPath(directory, "checkpoint.safetensors"));
    random = eval::RepeatableDraws(recipe_.seed,
                                   "federated " + name + (stands.ok() ? base::ToHex(*stands) : ""));
  }
  const train::FederatedLstm model(shape);
  const train::FederatedData data = {&model, start, texts->users, texts->heldout, name};
  SUBMIX_ASSIGN_OR_RETURN(
      train::FederatedResult result,
      TrainFederated(options, data, *random,
                     is_finished() ? base::ProgressStyle::kSilent : base::DetectProgressStyle(),
                     [&](const train::RoundReport& report) {
                       if (!report.heldout.has_value()) return base::OkStatus();
                       return file.Add({report.round, report.heldout->accuracy_top1,
                                        report.smoothed_accuracy_top1, report.heldout->perplexity});
                     }));
  if (!is_finished()) {  // killed between the last checkpoint and its evaluation's line
    SUBMIX_ASSIGN_OR_RETURN(
        const train::PredictionMetrics metrics,
        EvaluateWordLstm(shape, result.parameters, texts->heldout, std::max(1, recipe_.threads)));
    SUBMIX_RETURN_IF_ERROR(file.Add(
        {setting.rounds, metrics.accuracy_top1, metrics.accuracy_top1, metrics.perplexity}));
  }
  trained.run.evaluations = file.evaluations();
  trained.parameters = std::move(result.parameters);
  if (result.statement.has_value()) {
    trained.run.promise = {result.epsilon, options.delta, PromiseOf(*result.statement)};
  }
  return trained;
}

StatusOr<eval::FederatedRun> FederatedTrainings::Train(const FederatedSetting& setting) {
  SUBMIX_ASSIGN_OR_RETURN(Trained trained, TrainOrLoad(setting));
  return std::move(trained.run);
}

StatusOr<std::vector<eval::HeadWordCounts>> FederatedTrainings::CountHeadWords(
    const FederatedSetting& setting) {
  SUBMIX_ASSIGN_OR_RETURN(const Trained trained, TrainOrLoad(setting));
  SUBMIX_ASSIGN_OR_RETURN(const Texts* texts, LoadTexts(setting.words));
  train::WordLstmShape shape = recipe_.shape;
  shape.vocab_size = texts->vocabulary.size();
  SUBMIX_ASSIGN_OR_RETURN(
      const auto histograms,
      train::CountHeadWords(shape, trained.parameters,
                            train::FirstWords(texts->heldout, train::kTable3Tokens),
                            train::kTable3Heads, std::max(1, recipe_.threads)));
  std::vector<eval::HeadWordCounts> counts;
  for (const train::HeadWordHistogram& histogram : histograms) {
    counts.push_back({histogram.head, histogram.counts});
  }
  return counts;
}

}  // namespace submix::apps
