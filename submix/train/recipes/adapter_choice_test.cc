#include "submix/train/recipes/adapter_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::train {
namespace adapter_choice_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kLayers = 6;

model::LoraConfig Recipe() {
  model::LoraConfig recipe;
  recipe.rank = 16;
  recipe.lora_alpha = 32;
  recipe.layers = {4, 5};
  return recipe;
}

TEST(AdapterChoiceTest, WhatNobodySaysIsTheRecipes) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto lora, AdapterOf({}, Recipe(), kLayers));
  EXPECT_EQ(lora, Recipe());
}

TEST(AdapterChoiceTest, TheScalingStaysWhateverTheRank) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto lora, AdapterOf({.rank = 4}, Recipe(), kLayers));
  EXPECT_EQ(lora->rank, 4);
  EXPECT_EQ(lora->lora_alpha, 8);
}

TEST(AdapterChoiceTest, TopLayersAreTheLast) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto top, AdapterOf({.top_layers = 3}, Recipe(), kLayers));
  EXPECT_THAT(top->layers, ElementsAre(3, 4, 5));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, AdapterOf({.top_layers = 0}, Recipe(), kLayers));
  EXPECT_THAT(all->layers, IsEmpty());
}

TEST(AdapterChoiceTest, AllWeightsHaveNoAdapter) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto none, AdapterOf({.full = true}, Recipe(), kLayers));
  EXPECT_FALSE(none.has_value());
  EXPECT_THAT(AdapterOf({.full = true, .top_layers = 2}, Recipe(), kLayers).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("all weights")));
}

TEST(AdapterChoiceTest, LayersThatTheModelLacksAreRefused) {
  for (const int layers : {-1, kLayers + 1}) {
    EXPECT_THAT(AdapterOf({.top_layers = layers}, Recipe(), kLayers).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("top layers: expected 0 to 6")));
  }
}

}  // namespace adapter_choice_test
}  // namespace submix::train
