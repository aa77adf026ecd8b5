#include "submix/model/lora_adapter.h"

#include <cmath>
#include <filesystem>
#include <map>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/model/safetensors.h"

namespace submix::model {
namespace lora_adapter_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DecoderConfig kTiny = {.vocab_size = 16,
                             .context_length = 8,
                             .width = 8,
                             .layers = 2,
                             .attention_heads = 2,
                             .norm_epsilon = 1e-5,
                             .end_of_text = 15};

// The values that testdata/model/generate.py wrote.
std::vector<float> Pattern(std::size_t tensor, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = (static_cast<float>((7 * tensor + 3 * i) % 33) - 16) / 8;
  }
  return values;
}

std::vector<std::string> Names(const base::StatusOr<std::vector<LoraModule>>& modules) {
  std::vector<std::string> names;
  for (const LoraModule& module : *modules) names.push_back(module.name);
  return names;
}

LoraConfig Targets(std::vector<std::string> targets, std::vector<int> layers = {}) {
  LoraConfig config;
  config.target_modules = std::move(targets);
  config.layers = std::move(layers);
  return config;
}

TEST(AdaptedModulesTest, SuffixesMatchAsInPeft) {
  EXPECT_THAT(Names(AdaptedModules(kTiny, Targets({"c_attn"}))),
              ElementsAre("h.0.attn.c_attn", "h.1.attn.c_attn"));
  EXPECT_THAT(Names(AdaptedModules(kTiny, Targets({"c_proj"}, {1}))),
              ElementsAre("h.1.attn.c_proj", "h.1.mlp.c_proj"));
  EXPECT_THAT(Names(AdaptedModules(kTiny, Targets({"mlp.c_proj", "c_attn"}, {0}))),
              ElementsAre("h.0.attn.c_attn", "h.0.mlp.c_proj"));
  EXPECT_THAT(Names(AdaptedModules(kTiny, Targets({"0.attn.c_attn"}))),
              ElementsAre("h.0.attn.c_attn"));
}

TEST(AdaptedModulesTest, AWholeNameIsTakenWhateverTheLayersAsInPeft) {
  EXPECT_THAT(Names(AdaptedModules(kTiny, Targets({"transformer.h.0.mlp.c_fc", "c_attn"}, {1}))),
              ElementsAre("h.0.mlp.c_fc", "h.1.attn.c_attn"));
}

TEST(AdaptedModulesTest, KnowsTheSizesOfEveryLinearLayer) {
  const auto modules =
      AdaptedModules(kTiny, Targets({"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"}, {0}));
  std::vector<std::pair<int, int>> sizes;
  for (const LoraModule& module : *modules) sizes.emplace_back(module.inputs, module.outputs);
  EXPECT_THAT(sizes,
              ElementsAre(std::pair(8, 24), std::pair(8, 8), std::pair(8, 32), std::pair(32, 8)));
}

TEST(AdaptedModulesTest, UnknownTargetsAndLayersAreRefused) {
  for (const char* target : {"q_proj", "proj", "wte", "attn", "", ".c_attn", "h.2.attn.c_attn"}) {
    EXPECT_THAT(AdaptedModules(kTiny, Targets({target})),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("unknown target module")))
        << target;
  }
  for (const int layer : {-1, 2}) {
    EXPECT_THAT(AdaptedModules(kTiny, Targets({"c_attn"}, {0, layer})),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::to_string(layer))));
  }
}

TEST(LoraAdapterTest, ReadsWhatPeftWrites) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter adapter,
                              LoadLoraAdapter(SUBMIX_TESTDATA_DIR "/model/peft_adapter", kTiny));
  EXPECT_EQ(adapter.config, (LoraConfig{.rank = 2,
                                        .lora_alpha = 4,
                                        .target_modules = {"c_proj", "c_attn"},
                                        .layers = {},
                                        .base_model = "gpt2"}));
  EXPECT_EQ(adapter.scaling(), 2.0);
  EXPECT_THAT(Names(adapter.modules),
              ElementsAre("h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_proj", "h.1.attn.c_attn",
                          "h.1.attn.c_proj", "h.1.mlp.c_proj"));
  for (std::size_t i = 0; i < adapter.modules.size(); ++i) {
    const LoraModule& module = adapter.modules[i];
    EXPECT_EQ(module.a, Pattern(2 * i, 2 * static_cast<std::size_t>(module.inputs)));
    EXPECT_EQ(module.b, Pattern(2 * i + 1, 2 * static_cast<std::size_t>(module.outputs)));
  }
}

TEST(LoraAdapterTest, ReadsNewerPeftsFieldsAndHalfPrecision) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter adapter,
                              LoadLoraAdapter(SUBMIX_TESTDATA_DIR "/model/peft_one_layer", kTiny));
  EXPECT_THAT(adapter.config.layers, ElementsAre(1));
  ASSERT_THAT(Names(adapter.modules), ElementsAre("h.1.mlp.c_fc"));
  EXPECT_EQ(adapter.modules[0].a, Pattern(0, 16));
  EXPECT_EQ(adapter.modules[0].b, Pattern(1, 64));
}

class LoraAdapterFileTest : public ::testing::Test {
 protected:
  LoraAdapterFileTest() {
    std::filesystem::copy(SUBMIX_TESTDATA_DIR "/model/peft_one_layer", directory_.path(),
                          std::filesystem::copy_options::recursive);
  }
  // Loads the fixture with `from` replaced by `to` in its configuration.
  base::StatusOr<LoraAdapter> LoadWith(const std::string& from, const std::string& to,
                                       const DecoderConfig& model = kTiny) {
    std::string text =
        *base::ReadFile(SUBMIX_TESTDATA_DIR "/model/peft_one_layer/adapter_config.json");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_THAT(base::WriteFile(directory_.File("adapter_config.json"), text), base::IsOk());
    return LoadLoraAdapter(directory_.path(), model);
  }
  base::StatusOr<LoraAdapter> LoadWithTensors(std::span<const NamedTensor> tensors) {
    EXPECT_THAT(WriteSafetensors(weights_path_, tensors, Dtype::kF32, {}), base::IsOk());
    return LoadLoraAdapter(directory_.path(), kTiny);
  }

  base::TemporaryDirectory directory_;
  std::string weights_path_ = directory_.File("adapter_model.safetensors");
};

TEST_F(LoraAdapterFileTest, WhatChangesTheResultIsRefusedByName) {
  struct Case {
    const char* from;
    const char* to;
    const char* field;
  };
  for (const Case& c : {
           Case{"\"LORA\"", "\"IA3\"", "peft_type"},
           Case{"\"bias\": \"none\"", "\"bias\": \"all\"", "bias"},
           Case{"\"fan_in_fan_out\": true", "\"fan_in_fan_out\": false", "fan_in_fan_out"},
           Case{"\"fan_in_fan_out\": true,", "", "fan_in_fan_out"},
           Case{"\"use_dora\": false", "\"use_dora\": true", "use_dora"},
           Case{"\"lora_bias\": false", "\"lora_bias\": true", "lora_bias"},
           Case{"\"modules_to_save\": null", "\"modules_to_save\": [\"wte\"]", "modules_to_save"},
           Case{"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"c_f.*\": 8}", "alpha_pattern"},
           Case{"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"c_fc\": \"8\"}",
                "alpha_pattern.c_fc"},
           Case{"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"c_fc\": 8, \"mlp.c_fc\": 9}",
                "alpha_pattern"},
           Case{"\"rank_pattern\": {}", "\"rank_pattern\": {\"c_fc\": 0}", "rank_pattern.c_fc"},
           Case{"\"rank_pattern\": {}", "\"rank_pattern\": 2", "rank_pattern"},
           Case{"\"exclude_modules\": null", "\"exclude_modules\": \"c_fc\"", "exclude_modules"},
           Case{"\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"",
                "init_lora_weights"},
           Case{"\"peft_version\"", "\"a_feature_of_tomorrow\"", "a_feature_of_tomorrow"},
           Case{"\"layers_pattern\": \"h\"", "\"layers_pattern\": \"blocks\"", "layers_pattern"},
           Case{"\"r\": 2", "\"r\": 0", "r"},
           Case{"\"r\": 2,", "", "r"},
           Case{"\"lora_alpha\": 4", "\"lora_alpha\": \"4\"", "lora_alpha"},
           Case{"[\n    \"mlp.c_fc\"\n  ]", "[]", "target_modules"},
           Case{"[\n    1\n  ]", "[0.5]", "layers_to_transform"},
       }) {
    EXPECT_THAT(LoadWith(c.from, c.to),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("adapter_config.json"),
                               HasSubstr(std::string("\"") + c.field + "\""))))
        << c.to;
  }
  EXPECT_THAT(LoadWith("\"mlp.c_fc\"", "\"q_proj\""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("q_proj")));
  EXPECT_THAT(LoadWith("[\n    \"mlp.c_fc\"\n  ]", "\".*c_fc\""),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("regular expression")));
}

// What the adapter does to an input of ones: scaling B A x.
std::vector<float> Product(const LoraAdapter& adapter, std::size_t index) {
  const LoraModule& module = adapter.modules[index];
  const auto rank = static_cast<std::size_t>(adapter.config.rank);
  const auto inputs = static_cast<std::size_t>(module.inputs);
  std::vector<float> product(static_cast<std::size_t>(module.outputs));
  for (std::size_t i = 0; i < product.size() * rank * inputs; ++i) {
    const std::size_t output = i / (rank * inputs);
    const std::size_t r = i / inputs % rank;
    product[output] += static_cast<float>(adapter.scaling()) * module.b[output * rank + r] *
                       module.a[r * inputs + i % inputs];
  }
  return product;
}

TEST_F(LoraAdapterFileTest, RankStabilisedScalingIsAlphaOverTheRoot) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter adapter,
                              LoadWith("\"use_rslora\": false", "\"use_rslora\": true"));
  EXPECT_DOUBLE_EQ(adapter.scaling(), 4 / std::sqrt(2.0));  // alpha 4, rank 2
}

TEST_F(LoraAdapterFileTest, PatternsNameModulesByTheirEnds) {
  const auto scaling = [&](const std::string& name) {
    const auto adapter =
        LoadWith("\"alpha_pattern\": {}", "\"alpha_pattern\": {\"" + name + "\": 3}");
    return adapter.ok() ? adapter->scaling() : -1;
  };
  for (const char* name :
       {"c_fc", "mlp.c_fc", "^transformer.h.1.mlp.c_fc", R"(h\\.1\\.mlp\\.c_fc$)"}) {
    EXPECT_EQ(scaling(name), 1.5) << name;
  }
  for (const char* other : {"_fc", "c_proj", "^mlp.c_fc", "h.0.mlp.c_fc"}) {
    EXPECT_EQ(scaling(other), 2) << other;
  }
}

TEST_F(LoraAdapterFileTest, ModulesOfSeveralRanksAndScalingsComeAsOne) {
  // Two layers: rank 2 and scaling 2; rank 1 and, by its own alpha, scaling 5.
  const std::string first = "base_model.model.transformer.h.0.mlp.c_fc.";
  const std::string second = "base_model.model.transformer.h.1.mlp.c_fc.";
  const std::vector<float> ones(64, 1);
  const std::vector<NamedTensor> tensors = {
      {first + "lora_A.weight", {2, 8}, std::span(ones).first(16)},
      {first + "lora_B.weight", {32, 2}, ones},
      {second + "lora_A.weight", {1, 8}, std::span(ones).first(8)},
      {second + "lora_B.weight", {32, 1}, std::span(ones).first(32)}};
  ASSERT_THAT(WriteSafetensors(weights_path_, tensors, Dtype::kF32, {}), base::IsOk());
  std::string text =
      *base::ReadFile(SUBMIX_TESTDATA_DIR "/model/peft_one_layer/adapter_config.json");
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"[\n    1\n  ]", "null"},
           {"\"rank_pattern\": {}", "\"rank_pattern\": {\"1.mlp.c_fc\": 1}"},
           {"\"alpha_pattern\": {}", "\"alpha_pattern\": {\"1.mlp.c_fc\": 5}"}}) {
    text.replace(text.find(from), from.size(), to);
  }
  ASSERT_THAT(base::WriteFile(directory_.File("adapter_config.json"), text), base::IsOk());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter adapter, LoadLoraAdapter(directory_.path(), kTiny));
  EXPECT_EQ(adapter.config.rank, 2);
  EXPECT_THAT(Product(adapter, 0), Each(2 * 2 * 8));
  EXPECT_THAT(Product(adapter, 1), Each(5 * 8));
}

TEST_F(LoraAdapterFileTest, NamesOfOtherProgramsAreRead) {
  const std::vector<float> a(16, 1);
  const std::vector<float> b(64, 2);
  const auto load = [&](const std::string& module, const std::string& end) {
    const std::vector<NamedTensor> tensors = {{module + "lora_A" + end, {2, 8}, a},
                                              {module + "lora_B" + end, {32, 2}, b}};
    return LoadWithTensors(tensors);
  };
  for (const char* begin : {"base_model.model.transformer.", "transformer."}) {
    for (const char* end : {".weight", ".default.weight"}) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter adapter,
                                  load(begin + std::string("h.1.mlp.c_fc."), end));
      EXPECT_EQ(adapter.modules.front().b, b) << begin << end;
    }
  }
  const std::string module = "transformer.h.1.mlp.c_fc.lora_A";
  const std::vector<NamedTensor> twice = {{module + ".weight", {2, 8}, a},
                                          {module + ".default.weight", {2, 8}, a}};
  EXPECT_THAT(LoadWithTensors(twice), StatusIs(StatusCode::kDataLoss, HasSubstr("twice")));
}

TEST_F(LoraAdapterFileTest, HarmlessVariantsAreAccepted) {
  SUBMIX_EXPECT_OK(LoadWith("\"peft_version\"", "\"revision_note\": null, \"peft_version\""));
  SUBMIX_EXPECT_OK(LoadWith("\"init_lora_weights\": true", "\"init_lora_weights\": \"gaussian\""));
  SUBMIX_EXPECT_OK(LoadWith("\"layers_pattern\": \"h\"", "\"layers_pattern\": [\"h\"]"));
  SUBMIX_EXPECT_OK(LoadWith("\"layers_pattern\": \"h\"", "\"layers_pattern\": null"));
  SUBMIX_EXPECT_OK(LoadWith("[\n    1\n  ]", "1"));
  SUBMIX_EXPECT_OK(LoadWith("\"base_model_name_or_path\": \"gpt2\",", ""));
}

TEST_F(LoraAdapterFileTest, AnAdapterOfAnotherBaseIsRefusedByTensor) {
  const auto other_base = [](const std::string& what) {
    return StatusIs(StatusCode::kFailedPrecondition,
                    AllOf(HasSubstr(what), HasSubstr("another base model")));
  };
  DecoderConfig wider = kTiny;
  wider.width = 16;
  EXPECT_THAT(LoadWith("\"r\": 2", "\"r\": 2", wider),
              other_base("h.1.mlp.c_fc.lora_A.weight\": expected [2, 16], found [2, 8]"));
  EXPECT_THAT(LoadWith("\"r\": 2", "\"r\": 4"),
              other_base("lora_A.weight\": expected [4, 8], found [2, 8]"));
  EXPECT_THAT(LoadWith("[\n    1\n  ]", "[0, 1]"),
              other_base("h.0.mlp.c_fc.lora_A.weight\": expected [2, 8], found nothing"));
  EXPECT_THAT(LoadWith("[\n    1\n  ]", "[1, 7]"), other_base("layer 7"));
  EXPECT_THAT(LoadWith("\"mlp.c_fc\"", "\"mlp.c_proj\""),
              other_base("h.1.mlp.c_proj.lora_A.weight\": expected [2, 32], found nothing"));
}

TEST_F(LoraAdapterFileTest, TensorsBeyondTheConfigurationAreRefused) {
  const std::string module = "base_model.model.transformer.h.1.mlp.c_fc.";
  const std::vector<float> a(16);
  const std::vector<float> b(64);
  std::vector<NamedTensor> tensors = {{module + "lora_A.weight", {2, 8}, a},
                                      {module + "lora_B.weight", {32, 2}, b}};
  SUBMIX_EXPECT_OK(LoadWithTensors(tensors));
  tensors.push_back({module + "lora_magnitude_vector", {16}, a});
  EXPECT_THAT(LoadWithTensors(tensors),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("lora_magnitude_vector\": expected nothing, found [16]")));
}

TEST_F(LoraAdapterFileTest, MissingAndDamagedFilesAreNamed) {
  SUBMIX_ASSERT_OK(base::WriteFile(weights_path_, "short"));
  EXPECT_THAT(LoadLoraAdapter(directory_.path(), kTiny),
              StatusIs(StatusCode::kDataLoss, HasSubstr("adapter_model.safetensors")));
  SUBMIX_ASSERT_OK(base::RemoveAll(weights_path_));
  EXPECT_THAT(LoadLoraAdapter(directory_.path(), kTiny),
              StatusIs(StatusCode::kNotFound, HasSubstr("adapter_model.safetensors")));
  EXPECT_THAT(LoadLoraAdapter(directory_.File("none"), kTiny),
              StatusIs(StatusCode::kNotFound, HasSubstr("adapter_config.json")));
}

TEST_F(LoraAdapterFileTest, WhatIsSavedIsLoaded) {
  LoraAdapter adapter;
  adapter.config = {.rank = 3,
                    .lora_alpha = 0.1,
                    .target_modules = {"c_attn", "mlp.c_proj"},
                    .layers = {1},
                    .base_model = ""};
  SUBMIX_ASSERT_OK_AND_ASSIGN(adapter.modules, AdaptedModules(kTiny, adapter.config));
  for (LoraModule& module : adapter.modules) {
    module.a = Pattern(1, 3 * static_cast<std::size_t>(module.inputs));
    module.b = Pattern(2, 3 * static_cast<std::size_t>(module.outputs));
  }
  SUBMIX_ASSERT_OK(SaveLoraAdapter(adapter, kTiny, directory_.path()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter loaded, LoadLoraAdapter(directory_.path(), kTiny));
  EXPECT_EQ(loaded.config, adapter.config);
  ASSERT_EQ(Names(loaded.modules), Names(adapter.modules));
  for (std::size_t i = 0; i < loaded.modules.size(); ++i) {
    EXPECT_EQ(loaded.modules[i].a, adapter.modules[i].a);
    EXPECT_EQ(loaded.modules[i].b, adapter.modules[i].b);
  }
}

TEST_F(LoraAdapterFileTest, AllModulesOfSomeLayersAreWrittenAsAListAsPeftAsks) {
  LoraAdapter adapter;
  adapter.config = Targets({"all-linear"}, {1});
  adapter.config.rank = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(adapter.modules, AdaptedModules(kTiny, adapter.config));
  for (LoraModule& module : adapter.modules) {
    module.a = Pattern(1, static_cast<std::size_t>(module.inputs));
    module.b = Pattern(2, static_cast<std::size_t>(module.outputs));
  }
  SUBMIX_ASSERT_OK(SaveLoraAdapter(adapter, kTiny, directory_.path()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter loaded, LoadLoraAdapter(directory_.path(), kTiny));
  EXPECT_THAT(loaded.config.target_modules, ElementsAre("c_attn", "c_fc", "c_proj"));
  EXPECT_EQ(Names(loaded.modules), Names(adapter.modules));
}

TEST_F(LoraAdapterFileTest, AnAdapterReadFromPeftIsWrittenBackWithTheSameTensors) {
  const std::string peft = SUBMIX_TESTDATA_DIR "/model/peft_adapter";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LoraAdapter adapter, LoadLoraAdapter(peft, kTiny));
  SUBMIX_ASSERT_OK(SaveLoraAdapter(adapter, kTiny, directory_.path()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto theirs,
                              SafetensorsFile::Open(peft + "/adapter_model.safetensors"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto ours, SafetensorsFile::Open(weights_path_));
  EXPECT_EQ(ours->metadata(), theirs->metadata());
  ASSERT_EQ(ours->tensors().size(), theirs->tensors().size());
  for (const auto& [name, tensor] : theirs->tensors()) {
    EXPECT_EQ(*ours->Read(name, tensor.shape), *theirs->Read(name, tensor.shape)) << name;
  }
}

}  // namespace lora_adapter_test
}  // namespace submix::model
