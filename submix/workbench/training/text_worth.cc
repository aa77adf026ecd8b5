#include "submix/workbench/training/text_worth.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/progress_bar.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/eval/attacks/exposure.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/train/recipes/training_recipe.h"
#include "submix/workbench/models/open_models.h"
#include "submix/workbench/training/public_text.h"

namespace submix::workbench {
namespace {

using base::StatusOr;

TrainingText AsDocuments(const std::string& name, const std::vector<corpus::UserTokens>& users) {
  TrainingText text{name, {}};
  for (corpus::UserTokens& document : corpus::CutIntoTexts(users)) {
    text.tokens.documents.push_back(std::move(document.tokens));
  }
  return text;
}

StatusOr<TrainingText> LoadSynthetic(const std::string& path,
                                     const corpus::RecordEncoder& encoder) {
  corpus::CorpusFile file(path);
  file.user_column = "id";
  // Nobody is held out, whatever the key.
  SUBMIX_ASSIGN_OR_RETURN(const auto documents,
                          corpus::PartitionCorpus(file, encoder, {}, {.num_parts = 1}));
  return AsDocuments(path, documents.members.front());
}

// The corpus, divided as the ensemble was; with other held-out text all of it counts as read.
StatusOr<WorthTexts> LoadReal(const WorthRequest& request, const ensemble::OpenedEnsemble& ensemble,
                              const corpus::RecordEncoder& encoder) {
  const ensemble::Manifest& manifest = ensemble.manifest();
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(ensemble.public_directory()));
  const int context_length = config.context_length;
  SUBMIX_ASSIGN_OR_RETURN(
      const auto key, corpus::LoadPartitionKey(ensemble::PartitionKeyPath(ensemble.directory())));
  const bool has_heldout = !request.heldout.empty();
  SUBMIX_ASSIGN_OR_RETURN(
      auto corpus,
      corpus::PartitionCorpus(
          request.corpus, encoder, key,
          {.num_parts = 1, .heldout_fraction = has_heldout ? 0 : manifest.heldout_fraction}));
  train::RemoveForgotten(manifest, key, corpus);
  if (corpus.members.front().empty()) {
    return base::FailedPreconditionError(request.corpus.path + ": no user of it was read by " +
                                         ensemble.directory());
  }
  WorthTexts texts;
  texts.training.push_back(AsDocuments("text that was read", corpus.members.front()));
  texts.heldout = eval::HeldoutFromUsers(corpus.heldout, context_length).blocks;
  if (has_heldout) {
    corpus::CorpusFile file = request.corpus;
    file.path = request.heldout;
    SUBMIX_ASSIGN_OR_RETURN(auto heldout, eval::HeldoutFromFile(file, encoder, context_length));
    texts.heldout = std::move(heldout.blocks);
  }
  if (!texts.heldout.empty()) return texts;
  return base::FailedPreconditionError(
      ensemble.directory() +
      ": no user of the corpus was held out from it; give other text of the same kind by "
      "--heldout");
}

std::int64_t TokensOfTheSmallest(const std::vector<TrainingText>& texts) {
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (const TrainingText& text : texts) tokens = std::min(tokens, text.tokens.words());
  return tokens;
}

// The lock of the directory of fine-tuned models, made if it is not there.
StatusOr<std::unique_ptr<base::FileLock>> LockModels(const std::string& directory) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  return ensemble::LockEnsemble(directory);
}

// As long as the synthetic documents may be, as much as the smallest text has.
StatusOr<TrainingText> LoadControl(const WorthRequest& request, const WorthTexts& texts,
                                   const std::string& public_directory,
                                   const corpus::RecordEncoder& encoder) {
  const tokenizer::Tokenizer& tokenizer = encoder.tokenizer();
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, LockModels(request.models));
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(public_directory));
  std::int64_t longest = 1;
  for (std::size_t i = 1; i < texts.training.size(); ++i) {
    for (const auto& document : texts.training[i].tokens.documents) {
      longest = std::max(longest, std::ssize(document));
    }
  }
  const std::int64_t room = config.context_length - std::ssize(tokenizer.prefix()) - 1;
  SUBMIX_ASSIGN_OR_RETURN(
      const std::string path,
      WritePublicText({.public_directory = public_directory,
                       .directory = request.models,
                       .tokens = texts.tokens,
                       .most_tokens = std::clamp<std::int64_t>(longest, 1, room),
                       .threads = request.predictor.threads},
                      tokenizer));
  return LoadSynthetic(path, encoder);
}

// As one stream, so that every text makes as many blocks, however long its documents are.
corpus::UserTokens AsStream(const eval::TextSample& text) {
  corpus::UserTokens stream;
  for (const auto& document : text.documents) {
    // Without a prefix the end of one document is the beginning of the next.
    const bool shares = !stream.tokens.empty() && stream.tokens.back() == document.front();
    stream.tokens.insert(stream.tokens.end(), document.begin() + (shares ? 1 : 0), document.end());
  }
  return stream;
}

// One for each text, by one recipe and each in a directory that is named after all that it is made
// of: what an earlier command left there is that model, whole or begun.
StatusOr<std::vector<train::MemberTask>> Plan(const std::vector<TrainingText>& texts,
                                              const std::string& public_directory,
                                              const std::string& models,
                                              const train::FineTuneOptions& recipe) {
  ensemble::Manifest hyper_parameters;
  hyper_parameters.hyper_parameters = train::HyperParameters(recipe);
  SUBMIX_ASSIGN_OR_RETURN(const auto public_sha256, train::PublicModelSha256(public_directory));
  std::vector<train::MemberTask> tasks;
  for (const TrainingText& text : texts) {
    train::MemberTask& task = tasks.emplace_back(
        train::MakeMemberTask("", tasks.size(), {AsStream(text.tokens)}, recipe));
    task.output_directory =
        base::JoinPath(models, train::RecipeDigest(task, hyper_parameters, public_sha256));
  }
  return tasks;
}

}  // namespace

StatusOr<WorthTexts> LoadWorthTexts(const WorthRequest& request,
                                    const ensemble::OpenedEnsemble& ensemble,
                                    const tokenizer::Tokenizer& tokenizer) {
  // Texts are compared by all of their tokens, those of conversations among them.
  const corpus::RecordEncoder encoder(tokenizer, ensemble.public_directory(), corpus::Loss::kAll);
  SUBMIX_ASSIGN_OR_RETURN(WorthTexts texts, LoadReal(request, ensemble, encoder));
  for (const std::string& path : request.synthetic) {
    SUBMIX_ASSIGN_OR_RETURN(auto text, LoadSynthetic(path, encoder));
    texts.training.push_back(std::move(text));
  }
  texts.tokens = TokensOfTheSmallest(texts.training);
  if (request.has_control) {
    SUBMIX_ASSIGN_OR_RETURN(auto control,
                            LoadControl(request, texts, ensemble.public_directory(), encoder));
    texts.training.push_back(std::move(control));
  }
  for (TrainingText& text : texts.training) {
    text.tokens = eval::ThinnedTo(text.tokens, texts.tokens);
  }
  return texts;
}

StatusOr<std::unique_ptr<ensemble::Predictor>> FineTuneOn(const WorthTexts& texts,
                                                          const WorthRequest& request,
                                                          const ensemble::OpenedEnsemble& ensemble,
                                                          const tokenizer::Tokenizer& tokenizer) {
  const std::string public_directory = ensemble.public_directory();
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(public_directory));
  train::FineTuneOptions recipe = train::RecommendedRecipe(
      config,
      {.num_parts = static_cast<int>(texts.training.size()), .tokens_a_part = texts.tokens});
  recipe.precision = request.precision;
  recipe.threads = request.predictor.threads;
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, LockModels(request.models));
  SUBMIX_ASSIGN_OR_RETURN(const auto tasks,
                          Plan(texts.training, public_directory, request.models, recipe));
  SUBMIX_RETURN_IF_ERROR(
      train::FineTuneMembers(public_directory, tasks, recipe, base::DetectProgressStyle()));
  std::vector<std::string> directories;
  for (const train::MemberTask& task : tasks) directories.push_back(task.output_directory);
  return LoadPredictor(request.predictor, public_directory, directories, tokenizer.vocab_size());
}

StatusOr<std::vector<double>> MeanExposures(const std::vector<eval::PlantedCode>& codes,
                                            const tokenizer::Tokenizer& tokenizer,
                                            ensemble::Predictor& predictor) {
  const eval::ExposureOptions options;
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t scored, eval::CodesToScore(codes, options));
  std::vector<std::unique_ptr<eval::TokenLaw>> laws;
  std::vector<eval::TokenLaw*> asked;
  for (int row = 0; row <= predictor.num_members(); ++row) {
    asked.push_back(laws.emplace_back(eval::MakeRowLaw(static_cast<std::size_t>(row))).get());
  }
  std::vector<double> means(laws.size());
  base::ProgressBar progress("Ranking", scored, "codes");
  for (std::size_t c = 0; c < codes.size(); ++c) {
    const auto random = eval::RepeatableDraws(/*seed=*/0, "exposure", c);
    SUBMIX_ASSIGN_OR_RETURN(const auto exposures,
                            eval::MeasureExposure(predictor, asked, tokenizer, codes[c], options,
                                                  *random, [&] { progress.Advance(1); }));
    for (std::size_t row = 0; row < means.size(); ++row) {
      means[row] += exposures[row].by_rank / static_cast<double>(codes.size());
    }
  }
  progress.Finish();
  return means;
}

}  // namespace submix::workbench
