#include "submix/train/recipes/training_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::train {
namespace training_recipe_test {

using ::testing::ElementsAre;

// The bundled model's, and GPT-2 small's.
model::DecoderConfig Shape(int layers, int width) {
  model::DecoderConfig config;
  config.layers = layers;
  config.width = width;
  config.attention_heads = 4;
  config.context_length = 512;
  return config;
}

// docs/results/README.md, "How it was made".
TEST(TrainingRecipeTest, LittleTextIsReadOnceInSmallBatches) {
  const FineTuneOptions recipe = RecommendedRecipe(Shape(6, 256), {.num_parts = 32});
  ASSERT_TRUE(recipe.lora.has_value());
  EXPECT_EQ(recipe.lora->rank, 16);
  EXPECT_THAT(recipe.lora->layers, ElementsAre(3, 4, 5));
  EXPECT_EQ(recipe.epochs, 1);
  EXPECT_EQ(recipe.batch_size, 2);
  EXPECT_DOUBLE_EQ(recipe.learning_rate.peak, 4e-3);
  EXPECT_EQ(recipe.members_at_a_time, 4);
  SUBMIX_EXPECT_OK(CheckFineTuneOptions(recipe, Shape(6, 256)));
}

TEST(TrainingRecipeTest, MoreTextIsReadThriceAndVeryMuchInLargeBatches) {
  const FineTuneOptions more =
      RecommendedRecipe(Shape(6, 256), {.num_parts = 64, .tokens_a_part = 135'000});
  EXPECT_EQ(more.epochs, 3);
  EXPECT_DOUBLE_EQ(more.learning_rate.peak, 2.5e-3);
  const FineTuneOptions most =
      RecommendedRecipe(Shape(6, 256), {.num_parts = 1, .tokens_a_part = 8'600'000});
  EXPECT_EQ(most.epochs, 1);
  EXPECT_EQ(most.batch_size, 8);
  EXPECT_DOUBLE_EQ(most.learning_rate.peak, 1e-3);
  EXPECT_EQ(most.members_at_a_time, 1);
}

TEST(TrainingRecipeTest, WiderModelsMoveSlower) {
  const FineTuneOptions small = RecommendedRecipe(Shape(12, 768), {.num_parts = 32});
  EXPECT_DOUBLE_EQ(small.learning_rate.peak, 4e-3 / 3);
  EXPECT_THAT(small.lora->layers, ElementsAre(6, 7, 8, 9, 10, 11));
  // A narrower one has no measured reason to move faster.
  EXPECT_DOUBLE_EQ(RecommendedRecipe(Shape(1, 16), {}).learning_rate.peak, 4e-3);
}

TEST(TrainingRecipeTest, AllWeightsMoveSlowlyAndAlone) {
  const FineTuneOptions full =
      RecommendedRecipe(Shape(6, 256), {.num_parts = 8, .all_weights = true});
  EXPECT_FALSE(full.lora.has_value());
  EXPECT_DOUBLE_EQ(full.learning_rate.peak, 1e-4);
  EXPECT_EQ(full.members_at_a_time, 1);
  SUBMIX_EXPECT_OK(CheckFineTuneOptions(full, Shape(6, 256)));
}

TEST(TrainingRecipeTest, NoisyGradientsGetNoWarmUp) {
  const FineTuneOptions recipe = RecommendedPrivateRecipe(Shape(6, 256), /*all_weights=*/false);
  EXPECT_EQ(recipe.learning_rate.warmup_fraction, 0);
  EXPECT_EQ(recipe.epochs, 10);
  EXPECT_DOUBLE_EQ(recipe.learning_rate.peak, 1e-2);
}

TEST(TrainingRecipeTest, ThePapersIsThePapers) {
  const FineTuneOptions paper = PaperRecipe(Shape(6, 256), /*all_weights=*/false);
  EXPECT_EQ(paper.lora->rank, 8);
  EXPECT_THAT(paper.lora->target_modules, ElementsAre("c_attn"));
  EXPECT_DOUBLE_EQ(paper.learning_rate.peak, 1e-4);
  EXPECT_DOUBLE_EQ(paper.learning_rate.warmup_fraction, 1);
}

TEST(TrainingRecipeTest, OtherFamiliesHaveTheirOwnLayers) {
  model::DecoderConfig llama = Shape(6, 256);
  llama.family = "llama";
  EXPECT_THAT(RecommendedRecipe(llama, {}).lora->target_modules, ElementsAre("all-linear"));
  EXPECT_THAT(PaperRecipe(llama, false).lora->target_modules,
              ElementsAre("q_proj", "k_proj", "v_proj"));
}

TEST(TrainingRecipeTest, IsSaidInOneLine) {
  EXPECT_EQ(RecipeText(RecommendedRecipe(Shape(6, 256), {.num_parts = 32})),
            "adapters of rank 16 (alpha 32) on c_attn attn.c_proj mlp.c_fc mlp.c_proj of layers 3 "
            "4 5; 1 pass, 2 blocks of 129 tokens an update, rate 0.004 after 10 % of the updates; "
            "4 members at a time, f32");
}

TEST(TrainingRecipeTest, SaysTheRateInFourDigits) {
  const FineTuneOptions recipe = RecommendedRecipe(Shape(6, 576), {.num_parts = 32});
  EXPECT_DOUBLE_EQ(recipe.learning_rate.peak, 4e-3 * 256 / 576);
  EXPECT_THAT(RecipeText(recipe), testing::HasSubstr(", rate 0.001778 after "));
}

TEST(TrainingRecipeTest, APrivateOneSaysTheUpdatesThatWereAskedFor) {
  const FineTuneOptions recipe = RecommendedPrivateRecipe(Shape(2, 256), /*all_weights=*/true);
  const std::string rest =
      ", 8 blocks of 129 tokens of a user at a time, rate 0.001 after 0 % of the updates; f32";
  EXPECT_EQ(PrivateRecipeText(recipe, /*steps=*/0), "all weights; 10 expected passes" + rest);
  EXPECT_EQ(PrivateRecipeText(recipe, 6), "all weights; 6 updates" + rest);
  EXPECT_EQ(PrivateRecipeText(recipe, 1), "all weights; 1 update" + rest);
}

}  // namespace training_recipe_test
}  // namespace submix::train
