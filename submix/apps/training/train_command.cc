// `submix train`: an ensemble from user-keyed text, or one model trained with differential privacy.
#include <cstdio>
#include <memory>
#include <string>

#include "submix/apps/program_commands.h"
#include "submix/apps/training/fine_tune_flags.h"
#include "submix/apps/training/private_training_flags.h"
#include "submix/apps/training/process_ranks.h"
#include "submix/base/file_system.h"
#include "submix/model/gpt_config.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/fine_tuning/shared_members.h"

namespace submix::apps {
namespace {

struct TrainOptions {
  train::EnsembleTrainingOptions training;
  FineTuneFlags fine_tune;
  PrivateTrainingFlags private_training;
  std::string public_trained_on = "same-users";
};

base::Status RunTrain(TrainOptions options) {
  train::EnsembleTrainingOptions& training = options.training;
  SUBMIX_ASSIGN_OR_RETURN(training.ranks, JoinRanks());
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadGptConfig(base::JoinPath(
                                                 training.public_directory, "config.json")));
  SUBMIX_ASSIGN_OR_RETURN(training.fine_tune, FineTuneOptionsOf(options.fine_tune, config.layers));
  if (training.ranks != nullptr && !training.ranks->is_root()) {
    return ServeMembers(*training.ranks, training.fine_tune);
  }
  if (!options.private_training.mechanism.empty()) {
    if (training.ranks != nullptr) {
      return base::UnimplementedError("--private trains in one process; start it without mpirun");
    }
    return RunPrivateTraining(PrivateTrainingOptionsOf(options.private_training, training),
                              options.private_training.json);
  }
  training.public_trained_on_others = options.public_trained_on == "other-users";
  SUBMIX_RETURN_IF_ERROR(train::TrainEnsemble(training, base::DetectProgressStyle()));
  std::printf("%s holds %d parts, %d member(s) each. Next: submix deploy %s DEPLOYMENT\n",
              training.ensemble_directory.c_str(), training.partition.num_parts,
              training.partition.halves, training.ensemble_directory.c_str());
  return base::OkStatus();
}

}  // namespace

void AddTrainCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<TrainOptions>();
  train::EnsembleTrainingOptions& training = options->training;
  training.partition.num_parts = 16;
  training.partition.heldout_fraction = 0.1;
  command
      .add_option("corpus", training.corpus,
                  "Private text: one {\"user\": \"…\", \"text\": \"…\"} a line (.jsonl, .jsonl.xz)")
      ->required()
      ->check(CLI::ExistingFile);
  command
      .add_option("ensemble", training.ensemble_directory, "Directory to make, or to go on with")
      ->required();
  command
      .add_option("--public", training.public_directory,
                  "Public model: a Hugging Face GPT-2 directory")
      ->required()
      ->check(CLI::ExistingDirectory);
  command
      .add_option("--parts", training.partition.num_parts,
                  "Disjoint sets of users; more parts cost less privacy each, and know less")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--halves", training.partition.halves,
                  "Members a part: 2 makes the pairs that `submix` needs")
      ->check(CLI::Range(1, 2));
  command
      .add_option("--heldout-fraction", training.partition.heldout_fraction,
                  "Share of the users kept for evaluation, never trained on")
      ->check(CLI::Range(0.0, 0.9));
  command
      .add_option("--public-trained-on", options->public_trained_on,
                  "Where --public is a model trained privately: other-users if no user of this "
                  "corpus was among its users; with same-users, the default, statements add both "
                  "losses")
      ->check(CLI::IsMember({"same-users", "other-users"}));
  command.add_option(
      "--partition-key", training.partition_key_path,
      "32-byte key file of another ensemble, to partition alike; default: a new secret");
  AddFineTuneFlags(command, options->fine_tune);
  AddPrivateTrainingFlags(command, options->private_training);
  command.footer(
      "Interrupted? Run the same command again: finished members are kept, the last one goes on.\n"
      "mpirun -n R submix-train train … spreads the members over R processes: "
      "docs/several_machines.md.\n"
      "--parts 1 trains the non-private baseline for `submix evaluate --fine-tuned`.\n"
      "Example: submix train text.jsonl my_ensemble --public gpt2 --parts 32 --epochs 3\n"
      "--private dp-sgd trains one model that is (epsilon, delta)-private for each user and "
      "answers\n"
      "without limit; every step is paid for in ENSEMBLE/training before its noise is drawn.\n"
      "--batch-size is then how many of a user's blocks go through the model together.\n"
      "Example: submix train text.jsonl my_model --public gpt2 --private dp-sgd --epsilon 8 \\\n"
      "             --delta 1e-6 --expected-batch 2048 --epochs 10");
  command.callback([options, &command, &action] {
    ApplyPreset(command, options->private_training, options->fine_tune.options);
    action = [options] { return RunTrain(*options); };
  });
}

}  // namespace submix::apps
