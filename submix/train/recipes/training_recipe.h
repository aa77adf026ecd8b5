// How a model is trained where the operator says nothing. A recipe looks at public numbers alone:
// the public model's shape, the number of parts, and how much text a part is said to have. Never at
// the text, whose length is private too: a member must depend on its own part only (Theorem 5).
// Torch-free.
#pragma once

#include <cstdint>
#include <string>

#include "submix/model/decoder_config.h"
#include "submix/train/recipes/fine_tune_options.h"

namespace submix::train {

// All of it is public.
struct RecipeInput {
  int num_parts = 1;
  // About how many tokens a part has, declared and not counted; 0: nobody said, take it for little.
  std::int64_t tokens_a_part = 0;
  bool all_weights = false;  // instead of an adapter
};

// What keeps most of what fine-tuning gains (docs/results/README.md, "How it was made"). Precision
// and threads are left to the caller, who knows the processor.
FineTuneOptions RecommendedRecipe(const model::DecoderConfig& config, const RecipeInput& input);

// For DP-SGD: a rate for noisy gradients, without warm-up, ten expected passes; batch_size is how
// many of a user's blocks go through the model together.
FineTuneOptions RecommendedPrivateRecipe(const model::DecoderConfig& config, bool all_weights);

// The SubMix paper's: rank 8 on what attention reads in all layers, c_attn of a GPT-2, and a rate
// that rises over the whole training.
FineTuneOptions PaperRecipe(const model::DecoderConfig& config, bool all_weights);

// "adapters of rank 16 (alpha 32) on c_attn attn.c_proj mlp.c_fc mlp.c_proj of layers 3 4 5; 1
// pass, 2 blocks of 129 tokens an update, rate 0.004 after 10 % of the updates; 4 members at a
// time, bf16".
std::string RecipeText(const FineTuneOptions& options);

// The same of DP-SGD, where a step's batch is drawn from the users; of so many steps or, if 0, by
// epochs.
std::string PrivateRecipeText(const FineTuneOptions& options, std::int64_t steps);

}  // namespace submix::train
