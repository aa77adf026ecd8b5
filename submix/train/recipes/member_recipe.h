// What a member is a function of: public model, options, seed and the text of its half. Nothing
// else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/manifest.h"
#include "submix/train/recipes/fine_tune_options.h"

namespace submix::train {

struct MemberTask {
  // The adapter's (PEFT) or, without LoRA, the model's (Hugging Face) directory. It appears, whole,
  // when the member is done; "DIRECTORY.partial" holds the checkpoint until then.
  std::string output_directory;
  // Each of at most block_tokens tokens, of which some may not count. None: the member is written
  // as it starts, an adapter that adds zero or a copy of the public model.
  std::vector<std::vector<corpus::StreamToken>> blocks;
  std::uint64_t seed = 0;  // from a public seed and the member's index
};

// The indices of the blocks that predict something: what training orders (training_order.h) order.
std::vector<std::size_t> UsableBlocks(const MemberTask& task);

// Updates that the task takes: epochs * ceil(usable blocks / batch_size).
std::int64_t PlannedSteps(const MemberTask& task, const FineTuneOptions& options);

// The public options of a training as the manifest keeps them, and back. Errors: kDataLoss for a
// manifest that lacks one or holds nonsense.
std::map<std::string, std::string> HyperParameters(const FineTuneOptions& options);
base::StatusOr<FineTuneOptions> FineTuneOptionsFrom(
    const std::map<std::string, std::string>& hyper_parameters);

// How many tokens of each user the members read, as the manifest keeps it, and back. 0: all, which
// leaves no mark. Errors: kDataLoss.
void AddTokensPerUser(std::int64_t tokens_per_user, std::map<std::string, std::string>& parameters);
base::StatusOr<std::int64_t> TokensPerUserFrom(
    const std::map<std::string, std::string>& hyper_parameters);

// Adds how the weights are trained: "method" and, of adapters, rank, alpha, targets and layers.
void AddMethod(const std::optional<model::LoraConfig>& lora,
               std::map<std::string, std::string>& parameters);

// The task of member number `member`; its seed is a public constant of its place, so that no other
// part can move it.
MemberTask MakeMemberTask(const std::string& output_directory, std::size_t member,
                          const std::vector<corpus::UserTokens>& users,
                          const FineTuneOptions& options);

// SHA-256 (hex) over everything that the member is a function of.
std::string RecipeDigest(const MemberTask& task, const ensemble::Manifest& manifest,
                         const std::string& public_model_sha256);

// SHA-256 (hex) of what a public model computes with: of a GPT-2 model.safetensors alone, of others
// a list of the digests of config.json and all weight files. Errors: those of reading them.
base::StatusOr<std::string> PublicModelSha256(const std::string& public_directory);

// Takes the forgotten users out of every member's text.
void RemoveForgotten(const ensemble::Manifest& manifest, const base::HashKey& key,
                     corpus::PartitionedCorpus& corpus);

}  // namespace submix::train
