#include "submix/model/decoder_tensors.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::model {
namespace {

constexpr const char* kUntiedUnembedding = "lm_head";

}  // namespace

bool HasConv1d(const DecoderConfig& config) { return config.family == "gpt2"; }

std::string ModelPrefix(const DecoderConfig& config) {
  return HasConv1d(config) ? "transformer." : "model.";
}

std::string LayerPrefix(const DecoderConfig& config, int layer) {
  return (HasConv1d(config) ? "h." : "layers.") + std::to_string(layer) + ".";
}

LayerLinears LinearsOfLayer(const DecoderConfig& config, int layer) {
  const std::string prefix = LayerPrefix(config, layer);
  const int width = config.width;
  const int mlp = config.width_of_mlp();
  const int queries = config.query_width();
  const int keys = config.key_width();
  const auto linear = [&](const char* name, int inputs, int outputs) {
    return LinearLayer{prefix + name, layer, inputs, outputs};
  };
  if (HasConv1d(config)) {
    return {{linear("attn.c_attn", width, queries + 2 * keys)},
            linear("attn.c_proj", queries, width),
            {linear("mlp.c_fc", width, mlp)},
            linear("mlp.c_proj", mlp, width)};
  }
  return {{linear("self_attn.q_proj", width, queries), linear("self_attn.k_proj", width, keys),
           linear("self_attn.v_proj", width, keys)},
          linear("self_attn.o_proj", queries, width),
          {linear("mlp.gate_proj", width, mlp), linear("mlp.up_proj", width, mlp)},
          linear("mlp.down_proj", mlp, width)};
}

std::vector<LinearLayer> LinearLayers(const DecoderConfig& config) {
  std::vector<LinearLayer> layers;
  for (int layer = 0; layer < config.layers; ++layer) {
    const LayerLinears own = LinearsOfLayer(config, layer);
    layers.insert(layers.end(), own.attention_in.begin(), own.attention_in.end());
    layers.push_back(own.attention_out);
    layers.insert(layers.end(), own.mlp_in.begin(), own.mlp_in.end());
    layers.push_back(own.mlp_out);
  }
  return layers;
}

DecoderNames NamesOf(const DecoderConfig& config) {
  if (HasConv1d(config)) {
    DecoderNames names;
    if (!config.has_tied_embeddings) names.unembedding = kUntiedUnembedding;
    return names;
  }
  return {"embed_tokens", "input_layernorm",
          config.has_norms_after_blocks ? "pre_feedforward_layernorm" : "post_attention_layernorm",
          "norm", config.has_tied_embeddings ? "embed_tokens" : kUntiedUnembedding};
}

std::vector<DecoderTensor> DecoderTensors(const DecoderConfig& config) {
  const DecoderNames names = NamesOf(config);
  const std::int64_t width = config.width;
  std::vector<DecoderTensor> tensors;
  const auto add_norm = [&](const std::string& name, std::int64_t norm_width) {
    tensors.push_back({name + ".weight", {norm_width}});
    if (config.norm == Norm::kLayer) tensors.push_back({name + ".bias", {norm_width}});
  };
  const auto add_linear = [&](const LinearLayer& linear, bool has_bias) {
    std::vector<std::int64_t> shape = {linear.outputs, linear.inputs};
    if (HasConv1d(config)) std::swap(shape[0], shape[1]);
    tensors.push_back({linear.name + ".weight", std::move(shape), true});
    if (has_bias) tensors.push_back({linear.name + ".bias", {linear.outputs}, true});
  };
  tensors.push_back({names.token_embedding + ".weight", {config.vocab_size, width}});
  if (config.has_learned_positions) {
    tensors.push_back({kPositionEmbedding, {config.context_length, width}});
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = LayerPrefix(config, layer);
    const LayerLinears linears = LinearsOfLayer(config, layer);
    add_norm(prefix + names.norm_1, width);
    for (const LinearLayer& linear : linears.attention_in) {
      add_linear(linear, config.has_attention_in_bias);
    }
    if (config.has_query_key_norms) {
      add_norm(prefix + kQueryNorm, config.width_of_head());
      add_norm(prefix + kKeyNorm, config.width_of_head());
    }
    add_linear(linears.attention_out, config.has_attention_out_bias);
    if (config.has_norms_after_blocks) add_norm(prefix + kNormAfterAttention, width);
    add_norm(prefix + names.norm_2, width);
    for (const LinearLayer& linear : linears.mlp_in) add_linear(linear, config.has_mlp_bias);
    add_linear(linears.mlp_out, config.has_mlp_bias);
    if (config.has_norms_after_blocks) add_norm(prefix + kNormAfterMlp, width);
  }
  add_norm(names.final_norm, width);
  if (!config.has_tied_embeddings) {
    tensors.push_back({names.unembedding + ".weight", {config.vocab_size, width}});
  }
  return tensors;
}

std::string FullName(const DecoderConfig& config, const DecoderTensor& tensor) {
  const bool is_outside =
      !config.has_tied_embeddings && tensor.name.starts_with(kUntiedUnembedding);
  return is_outside ? tensor.name : ModelPrefix(config) + tensor.name;
}

namespace {

constexpr const char* kUnembeddingTensor = "lm_head.weight";

// What each of DecoderTensors is called in these files.
std::vector<std::string> NamesInFiles(const DecoderConfig& config, const WeightFiles& files,
                                      const std::vector<DecoderTensor>& tensors) {
  const DecoderTensor& first = tensors.front();
  const bool are_bare = !files.contains(FullName(config, first)) && files.contains(first.name);
  std::vector<std::string> names;
  for (const DecoderTensor& tensor : tensors) {
    names.push_back(are_bare ? tensor.name : FullName(config, tensor));
  }
  // Of a matrix that is both, some writers keep the other name.
  if (config.has_tied_embeddings && !files.contains(names.front()) &&
      files.contains(kUnembeddingTensor)) {
    names.front() = kUnembeddingTensor;
  }
  return names;
}

// Masks and indices: weights are floats.
bool IsOfIntegers(const TensorView& tensor) {
  const std::string_view type = tensor.other_dtype;
  return type == "BOOL" || type.starts_with('I') || type.starts_with('U');
}

// Masks and frequencies that older versions of transformers wrote and no version reads.
bool IsIdleBuffer(const DecoderConfig& config, std::string_view name) {
  const std::string model = ModelPrefix(config);
  if (name.starts_with(model)) name.remove_prefix(model.size());
  if (!HasConv1d(config) && name == "rotary_emb.inv_freq") return true;
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = LayerPrefix(config, layer);
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    return HasConv1d(config) ? rest == "attn.bias" || rest == "attn.masked_bias"
                             : rest == "self_attn.rotary_emb.inv_freq";
  }
  return false;
}

base::Status TensorError(const WeightFiles& files, std::string_view name,
                         const std::string& problem) {
  return base::DataLossError(files.PathOf(name) + ": tensor " + base::Quoted(name) + ": " +
                             problem);
}

// A matrix that is both embedding and unembedding may be there twice.
base::Status CheckIsSame(const WeightFiles& files, const std::string& embedding,
                         std::span<const std::int64_t> shape) {
  SUBMIX_ASSIGN_OR_RETURN(const TensorView first, files.Find(embedding, shape));
  SUBMIX_ASSIGN_OR_RETURN(const TensorView second, files.Find(kUnembeddingTensor, shape));
  if (first.dtype == second.dtype && std::ranges::equal(first.bytes, second.bytes)) {
    return base::OkStatus();
  }
  return TensorError(files, kUnembeddingTensor,
                     "differs from " + base::Quoted(embedding) +
                         ", although config.json's \"tie_word_embeddings\" says that they are one");
}

}  // namespace

base::StatusOr<std::vector<TensorView>> FindTensors(const DecoderConfig& config,
                                                    const WeightFiles& files) {
  const std::vector<DecoderTensor> tensors = DecoderTensors(config);
  const std::vector<std::string> names = NamesInFiles(config, files, tensors);
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    SUBMIX_ASSIGN_OR_RETURN(views.emplace_back(), files.Find(names[i], tensors[i].shape));
  }
  const std::set<std::string_view> read(names.begin(), names.end());
  for (const auto& [name, tensor] : files.tensors()) {
    if (read.contains(name) || IsOfIntegers(*tensor) || IsIdleBuffer(config, name)) continue;
    if (config.has_tied_embeddings && name == kUnembeddingTensor) continue;
    return TensorError(files, name,
                       "not known for a " + config.family +
                           " model of config.json's shape, and may change what it computes");
  }
  return views;
}

base::Status CheckNumbers(const DecoderConfig& config, const WeightFiles& files) {
  const std::vector<DecoderTensor> tensors = DecoderTensors(config);
  const std::vector<std::string> names = NamesInFiles(config, files, tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    SUBMIX_ASSIGN_OR_RETURN(const TensorView tensor, files.Find(names[i], tensors[i].shape));
    if (IsFinite(tensor)) continue;
    return TensorError(files, names[i], "holds a number that is not finite");
  }
  if (!config.has_tied_embeddings || !files.contains(kUnembeddingTensor)) return base::OkStatus();
  return CheckIsSame(files, names.front(), tensors.front().shape);
}

base::Status CheckWeights(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto config, LoadConfigOf(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto files, WeightFiles::Open(directory));
  SUBMIX_RETURN_IF_ERROR(FindTensors(config, *files).status());
  return CheckNumbers(config, *files);
}

}  // namespace submix::model
