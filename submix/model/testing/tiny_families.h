// The models of testdata/families as the values of a test's parameter.
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace submix::model {

inline auto TinyFamilies() {
  return ::testing::Values("tiny-llama", "tiny-llama31", "tiny-smollm2", "tiny-mistral",
                           "tiny-qwen2", "tiny-qwen3", "tiny-gemma2", "tiny-gemma3");
}

// As GoogleTest takes names.
inline std::string TinyFamilyName(const ::testing::TestParamInfo<const char*>& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace submix::model
