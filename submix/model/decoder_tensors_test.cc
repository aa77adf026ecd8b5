#include "submix/model/decoder_tensors.h"

#include <limits>
#include <map>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::model {
namespace decoder_tensors_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A model of a few numbers; its weights are changed tensor by tensor.
class DecoderTensorsTest : public ::testing::Test {
 protected:
  void WriteConfig(const std::string& text) {
    directory_.Write("config.json", text);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const DecoderConfig config, LoadConfigOf(directory_.path()));
    for (const DecoderTensor& tensor : DecoderTensors(config)) {
      Add(FullName(config, tensor), tensor.shape);
    }
  }
  void WriteGpt2(const std::string& more = "") {
    WriteConfig(R"({"model_type": "gpt2", "vocab_size": 5, "n_positions": 4, "n_embd": 2,
                    "n_layer": 1, "n_head": 1, "eos_token_id": null)" +
                more + "}");
  }
  void WriteLlama(const std::string& more = "") {
    WriteConfig(R"({"model_type": "llama", "vocab_size": 5, "hidden_size": 2,
                    "intermediate_size": 3, "num_hidden_layers": 1, "num_attention_heads": 1)" +
                more + "}");
  }
  void Add(const std::string& name, std::vector<std::int64_t> shape) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    tensors_[name] = {std::move(shape), std::vector<float>(count, 0.5f)};
  }
  base::Status Check() {
    std::vector<NamedTensor> named;
    for (const auto& [name, tensor] : tensors_)
      named.push_back({name, tensor.shape, tensor.values});
    SUBMIX_RETURN_IF_ERROR(
        WriteSafetensors(directory_.File("model.safetensors"), named, Dtype::kF32, {}));
    return CheckWeights(directory_.path());
  }
  void ExpectRefused(const std::string& tensor, const char* reason) {
    EXPECT_THAT(Check(), StatusIs(StatusCode::kDataLoss,
                                  AllOf(HasSubstr("model.safetensors"),
                                        HasSubstr('"' + tensor + '"'), HasSubstr(reason))));
  }

  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  const base::TemporaryDirectory directory_;
  std::map<std::string, Tensor> tensors_;
};

TEST_F(DecoderTensorsTest, BuffersThatHuggingFaceIgnoresAreIgnored) {
  WriteGpt2();
  Add("transformer.h.0.attn.bias", {1, 1, 4, 4});
  Add("h.0.attn.masked_bias", {});
  SUBMIX_EXPECT_OK(Check());
}

TEST_F(DecoderTensorsTest, FrequenciesOfALlamaAreIgnored) {
  WriteLlama();
  Add("model.layers.0.self_attn.rotary_emb.inv_freq", {1});
  Add("model.rotary_emb.inv_freq", {1});
  SUBMIX_EXPECT_OK(Check());
}

TEST_F(DecoderTensorsTest, WhatHasNoPlaceInTheModelIsRefusedByName) {
  for (const char* name :
       {"score.weight", "model.layers.1.mlp.up_proj.weight", "model.layers.0.self_attn.q_proj.bias",
        "model.layers.0.self_attn.q_norm.weight", "model.layers.0.mlp.up_proj.weight_scale",
        "model.layers.0.mlp.up_proj.lora_A.weight", "h.0.attn.bias",
        "model.layers.1.self_attn.rotary_emb.inv_freq"}) {
    tensors_.clear();
    WriteLlama();
    Add(name, {2});
    ExpectRefused(name, "may change what it computes");
  }
}

TEST_F(DecoderTensorsTest, NumbersThatAreNotFiniteAreRefusedByName) {
  for (const char* name : {"model.norm.weight", "model.embed_tokens.weight", "lm_head.weight"}) {
    tensors_.clear();
    WriteLlama();
    tensors_[name].values.back() = std::numeric_limits<float>::quiet_NaN();
    ExpectRefused(name, "not finite");
  }
}

TEST_F(DecoderTensorsTest, ATiedMatrixMayHaveEitherNameOrBoth) {
  const std::string tied = R"(, "tie_word_embeddings": true)";
  WriteLlama(tied);
  SUBMIX_EXPECT_OK(Check());
  Add("lm_head.weight", {5, 2});
  SUBMIX_EXPECT_OK(Check());
  tensors_["lm_head.weight"].values[3] = 0;
  ExpectRefused("lm_head.weight", "tie_word_embeddings");
  tensors_.erase("model.embed_tokens.weight");
  SUBMIX_EXPECT_OK(Check());
}

TEST_F(DecoderTensorsTest, AnUntiedGpt2HasAnUnembedding) {
  WriteGpt2(R"(, "tie_word_embeddings": false)");
  EXPECT_TRUE(tensors_.contains("lm_head.weight"));
  SUBMIX_EXPECT_OK(Check());
  tensors_.erase("lm_head.weight");
  EXPECT_THAT(Check(), StatusIs(StatusCode::kNotFound, HasSubstr("lm_head.weight")));
}

}  // namespace decoder_tensors_test
}  // namespace submix::model
