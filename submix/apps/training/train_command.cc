// `submix train`: an ensemble from user-keyed text, or one model trained with differential privacy.
#include <cstdio>
#include <string>
#include <vector>

#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/shell_word.h"
#include "submix/apps/training/ensemble_notes.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/apps/training/private_training_flags.h"
#include "submix/apps/training/process_ranks.h"
#include "submix/base/text_table.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/fine_tuning/training_recipe.h"

namespace submix::apps {
namespace {

struct TrainOptions {
  train::EnsembleTrainingOptions training;
  FineTuneFlags fine_tune;
  PrivateTrainingFlags private_training;
  std::string public_trained_on = "same-users";
  std::string recipe = "recommended";
  std::int64_t tokens_a_part = 0;
  std::vector<std::string> after;  // deployments

  bool is_private() const { return !private_training.mechanism.empty(); }
};

// What the flags do not say.
train::FineTuneOptions RecipeOf(const TrainOptions& options, const model::DecoderConfig& config) {
  const bool all_weights = options.fine_tune.adapter.full;
  if (options.recipe == "paper") {
    train::FineTuneOptions paper = train::PaperRecipe(config, all_weights);
    // A noisy gradient needs no warm-up; 1, the paper's, would halve the mean rate.
    if (options.is_private()) paper.learning_rate.warmup_fraction = 0;
    return paper;
  }
  if (options.is_private()) return train::RecommendedPrivateRecipe(config, all_weights);
  return train::RecommendedRecipe(config, {.num_parts = options.training.partition.num_parts,
                                           .tokens_a_part = options.tokens_a_part,
                                           .all_weights = all_weights});
}

void PrintRecipe(const train::FineTuneOptions& recipe) {
  for (const std::string& line : base::WrappedLines("Recipe: " + train::RecipeText(recipe))) {
    std::printf("%s\n", line.c_str());
  }
}

void PrintWhatNow(const train::EnsembleTrainingOptions& training) {
  const char* const directory = training.ensemble_directory.c_str();
  if (training.partition.num_parts == 1) {
    std::printf(
        "%s holds one model of all text: NOT private, nobody else may ask it. It is what\n"
        "others are compared with: submix evaluate ENSEMBLE --fine-tuned %s\n",
        directory, ShellWord(directory).c_str());
    return;
  }
  std::printf("%s holds %d parts, %d member(s) each. Next: submix deploy %s DEPLOYMENT\n",
              directory, training.partition.num_parts, training.partition.halves,
              ShellWord(directory).c_str());
}

base::Status RunTrain(const CLI::App& command, TrainOptions& options) {
  train::EnsembleTrainingOptions& training = options.training;
  SUBMIX_ASSIGN_OR_RETURN(training.ranks, JoinRanks());
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(training.public_directory));
  TakeUnsaid(command, RecipeOf(options, config), options.fine_tune);
  SUBMIX_ASSIGN_OR_RETURN(training.fine_tune, FineTuneOptionsOf(options.fine_tune, config.layers));
  if (training.ranks != nullptr && !training.ranks->is_root()) {
    return ServeMembers(*training.ranks, training.fine_tune);
  }
  // One model of all text is never deployed.
  if (training.partition.num_parts > 1 || options.is_private()) {
    SUBMIX_RETURN_IF_ERROR(SayWhoIsHeldAlready(training.corpus, training.ensemble_directory,
                                               options.after,
                                               options.private_training.json ? stderr : stdout));
  }
  if (!options.private_training.json) PrintRecipe(training.fine_tune);
  if (options.is_private()) {
    if (training.ranks != nullptr) {
      return base::UnimplementedError("--private trains in one process; start it without mpirun");
    }
    return RunPrivateTraining(PrivateTrainingOptionsOf(options.private_training, training),
                              options.private_training.json);
  }
  training.public_trained_on_others = options.public_trained_on == "other-users";
  SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(training, base::DetectProgressStyle()));
  PrintWhatNow(training);
  return PrintMembersWithoutText(training.ensemble_directory);
}

}  // namespace

void AddTrainCommand(CLI::App& command, Action& action) {
  TrainOptions& options = SetAction<TrainOptions>(
      command, action, [&command](TrainOptions& given) { return RunTrain(command, given); });
  train::EnsembleTrainingOptions& training = options.training;
  Flags flags(command);
  training.partition.num_parts = 16;
  training.partition.heldout_fraction = 0.1;
  RequireCorpus(flags, "corpus", "Private text", training.corpus);
  flags.Require("ensemble", training.ensemble_directory, "Directory to make, or to go on with");
  flags.Require(
      "--public", training.public_directory, kDirectory,
      "Public model: a directory in Hugging Face's layout (docs/models.md has the families)");
  flags.Add("--parts", training.partition.num_parts, kPositive,
            "Disjoint sets of users; more parts cost less privacy each, and know less");
  flags.Add("--halves", training.partition.halves, Between(1, 2),
            "Members a part: 2 makes the pairs that `submix` needs");
  flags.Add("--heldout-fraction", training.partition.heldout_fraction, Between(0.0, 0.9),
            "Share of the users kept for evaluation, never trained on");
  flags.Add("--public-trained-on", options.public_trained_on, OneOf({"same-users", "other-users"}),
            "Where --public is a model trained privately: other-users if no user of this corpus "
            "was among its users; with same-users, the default, statements add both losses");
  flags.Add("--partition-key", training.partition_key_path,
            "32-byte key file of another ensemble, to partition alike; default: a new secret");
  flags.Add(
      "--after", options.after,
      "Deployments, with commas between: says whether their ensembles have read users of this "
      "corpus, as it does of the ensembles beside this one");
  flags.Add("--recipe", options.recipe, OneOf({"recommended", "paper"}),
            "Of what no other option says. recommended: by the public model's size, --parts and "
            "--tokens-a-part; paper: the SubMix paper's, rank 8 on c_attn and a rate that rises to "
            "1e-4 until the end. Printed before training");
  flags
      .Add("--tokens-a-part", options.tokens_a_part, kPositive,
           "About how many tokens a part has, a public number for the recipe: from 20,000 on a "
           "part is read three times. Do not count private text for it")
      ->default_str("few");
  AddFineTuneFlags(command, options.fine_tune);
  for (const char* name :
       {"--rank", "--lora-alpha", "--targets", "--top-layers", "--epochs", "--learning-rate",
        "--warmup-fraction", "--batch-size", "--block-tokens", "--members-at-a-time"}) {
    command.get_option(name)->default_str("by --recipe");
  }
  AddPrivateTrainingFlags(command, options.private_training);
  command.footer(
      "Interrupted? Run the same command again: finished members are kept, the last one goes on.\n"
      "mpirun -n R submix train … spreads the members over R processes:\n"
      "docs/private_training.md.\n"
      "--parts 1 trains the non-private baseline for `submix evaluate --fine-tuned`.\n"
      "Example: submix train text.jsonl my_ensemble --public gpt2 --parts 32\n"
      "--private dp-sgd trains one model that is (epsilon, delta)-private for each user and "
      "answers\n"
      "without limit; every step is paid for in ENSEMBLE/training before its noise is drawn.\n"
      "--batch-size is then how many of a user's blocks go through the model together.\n"
      "Example: submix train text.jsonl my_model --public gpt2 --private dp-sgd --epsilon 8");
}

}  // namespace submix::apps
