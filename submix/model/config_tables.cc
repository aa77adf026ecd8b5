// What becomes of each field of a config.json: first what all families share, then each family.
// Defaults and reasons are those of the configuration classes and models of Hugging Face's
// transformers, 4.57 and 5, which agree in all of them.
#include <array>

#include "submix/model/config_fields.h"

namespace submix::model {
namespace {

// --- Why a field is ignored

constexpr std::string_view kRecord = "says what the model is called, or what wrote the files";
constexpr std::string_view kTraining = "only for training by Hugging Face, which has its dropout";
constexpr std::string_view kManner =
    "how the same numbers are computed, or what is returned besides";
constexpr std::string_view kPrecision = "numbers are taken in the type that the file has";
constexpr std::string_view kGeneration =
    "a default of generate(), which requests to Submix replace";
constexpr std::string_view kLabels = "of a classifier, which a language model is not";
constexpr std::string_view kTokens =
    "what texts begin with is the tokenizer's; padding is not read";
constexpr std::string_view kNotHere = "no class of this family reads it";

// --- What must be so

constexpr std::string_view kQuantized = "quantised weights are not supported";
constexpr std::string_view kOneWay = "each token must see itself and what precedes it, alone";
constexpr std::string_view kDecoderAlone = "only a decoder alone is supported";
constexpr std::string_view kWholeHeads = "rotary positions must turn whole heads, by halves";
constexpr std::string_view kNoBias = "the family has no such biases";
constexpr std::string_view kOtherActivation = "other activations are not supported";

// One function: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
constexpr std::string_view kTanhGelus =
    R"("gelu_pytorch_tanh" "gelu_new" "gelu_fast" "gelu_accurate" "gelu_python_tanh")";
constexpr std::string_view kSilus = R"("silu" "swish")";

constexpr auto kShared = std::to_array<ConfigField>({
    Read("model_type", ""),
    Ignored("architectures", "compared with the family's own before"),

    MustBe("quantization_config", "null", kQuantized),
    MustBe("compression_config", "null", kQuantized),
    MustBe("quantization", "null", kQuantized),
    MustBe("auto_map", "{} null", "the model comes with code of its own, which is not run"),
    MustBe("is_causal", "true", kOneWay),
    MustBe("use_bidirectional_attention", "false null", kOneWay),
    MustBe("is_encoder_decoder", "false null", kDecoderAlone),
    MustBe("add_cross_attention", "false null", kDecoderAlone),
    MustBe("cross_attention_hidden_size", "null", kDecoderAlone),
    MustBe("tie_encoder_decoder", "false null", kDecoderAlone),
    MustBe("pruned_heads", "{} null", "heads that were taken out are not supported"),
    MustBe("per_layer_config", "{} null", "layers of several kinds are not supported"),

    Ignored("_name_or_path", kRecord),
    Ignored("_model_name_or_path", kRecord),
    Ignored("name_or_path", kRecord),
    Ignored("_commit_hash", kRecord),
    Ignored("transformers_version", kRecord),
    Ignored("transformers.js_config", kRecord),
    Ignored("unsloth_version", kRecord),
    Ignored("unsloth_fixed", kRecord),
    Ignored("is_llama_config", kRecord),

    Ignored("torch_dtype", kPrecision),
    Ignored("dtype", kPrecision),
    Ignored("use_bfloat16", kPrecision),

    Ignored("initializer_range", kTraining),
    Ignored("attention_dropout", kTraining),
    Ignored("hidden_dropout", kTraining),
    Ignored("classifier_dropout", kTraining),
    Ignored("gradient_checkpointing", kTraining),
    Ignored("neftune_noise_alpha", kTraining),
    Ignored("loss_type", kTraining),

    Ignored("use_cache", kManner),
    Ignored("cache_implementation", kManner),
    Ignored("attn_implementation", kManner),
    Ignored("_attn_implementation", kManner),
    Ignored("_attn_implementation_internal", kManner),
    Ignored("_attn_implementation_autoset", kManner),
    Ignored("_flash_attn_2_enabled", kManner),
    Ignored("experts_implementation", kManner),
    Ignored("_experts_implementation", kManner),
    Ignored("chunk_size_feed_forward", kManner),
    Ignored("torchscript", kManner),
    Ignored("tf_legacy_loss", kManner),
    Ignored("return_dict", kManner),
    Ignored("use_return_dict", kManner),
    Ignored("output_attentions", kManner),
    Ignored("_output_attentions", kManner),
    Ignored("output_hidden_states", kManner),
    Ignored("output_past", kManner),
    Ignored("tie_last_hidden_states", kManner),
    Ignored("is_decoder", kManner),  // as these classes always are

    Ignored("bos_token_id", kTokens),
    Ignored("pad_token_id", kTokens),
    Ignored("unk_token_id", kTokens),
    Ignored("sep_token_id", kTokens),
    Ignored("decoder_start_token_id", kTokens),
    Ignored("tokenizer_class", kTokens),

    Ignored("num_labels", kLabels),
    Ignored("_num_labels", kLabels),
    Ignored("id2label", kLabels),
    Ignored("label2id", kLabels),
    Ignored("problem_type", kLabels),
    Ignored("finetuning_task", kLabels),

    Ignored("task_specific_params", kGeneration),
    Ignored("prefix", kGeneration),
    Ignored("max_length", kGeneration),
    Ignored("max_new_tokens", kGeneration),
    Ignored("min_length", kGeneration),
    Ignored("do_sample", kGeneration),
    Ignored("early_stopping", kGeneration),
    Ignored("num_beams", kGeneration),
    Ignored("num_beam_groups", kGeneration),
    Ignored("diversity_penalty", kGeneration),
    Ignored("temperature", kGeneration),
    Ignored("top_k", kGeneration),
    Ignored("top_p", kGeneration),
    Ignored("min_p", kGeneration),
    Ignored("typical_p", kGeneration),
    Ignored("epsilon_cutoff", kGeneration),
    Ignored("eta_cutoff", kGeneration),
    Ignored("repetition_penalty", kGeneration),
    Ignored("encoder_repetition_penalty", kGeneration),
    Ignored("length_penalty", kGeneration),
    Ignored("exponential_decay_length_penalty", kGeneration),
    Ignored("no_repeat_ngram_size", kGeneration),
    Ignored("encoder_no_repeat_ngram_size", kGeneration),
    Ignored("bad_words_ids", kGeneration),
    Ignored("suppress_tokens", kGeneration),
    Ignored("begin_suppress_tokens", kGeneration),
    Ignored("forced_bos_token_id", kGeneration),
    Ignored("forced_eos_token_id", kGeneration),
    Ignored("num_return_sequences", kGeneration),
    Ignored("output_scores", kGeneration),
    Ignored("return_dict_in_generate", kGeneration),
    Ignored("remove_invalid_values", kGeneration),
});

constexpr auto kGpt2 = std::to_array<ConfigField>({
    Read("vocab_size", "50257"),
    Read("n_positions", "1024"),
    Read("n_embd", "768"),
    Read("n_layer", "12"),
    Read("n_head", "12"),
    ReadOrNull("n_inner", "null"),  // 4 n_embd
    Read("layer_norm_epsilon", "1e-5"),
    ReadOrNull("eos_token_id", "50256"),
    Read("tie_word_embeddings", "true"),
    AliasOf("n_positions", "max_position_embeddings"),
    AliasOf("n_embd", "hidden_size"),
    AliasOf("n_layer", "num_hidden_layers"),
    AliasOf("n_head", "num_attention_heads"),
    MustBe("activation_function", kTanhGelus, kOtherActivation),
    MustBe("scale_attn_weights", "true", "scores must be scaled by the width of a head"),
    MustBe("scale_attn_by_inverse_layer_idx", "false", "scores must be scaled alike in all layers"),
    MustBe("position_embedding_type", R"("absolute")", "positions must be learned embeddings"),
    Ignored("n_ctx", "Hugging Face's class reads n_positions"),
    Ignored("reorder_and_upcast_attn", kManner),
    Ignored("attn_pdrop", kTraining),
    Ignored("embd_pdrop", kTraining),
    Ignored("resid_pdrop", kTraining),
    Ignored("summary_type", kLabels),
    Ignored("summary_use_proj", kLabels),
    Ignored("summary_activation", kLabels),
    Ignored("summary_proj_to_labels", kLabels),
    Ignored("summary_first_dropout", kLabels),
    Ignored("predict_special_tokens", kNotHere),
});

// Of all families with rotary positions. rotary_positions.cc says what of what counts.
constexpr auto kRotary = std::to_array<ConfigField>({
    Read("rope_theta", ""),
    ReadOrNull("rope_scaling", ""),
    ReadOrNull("rope_parameters", ""),
    MustBe("partial_rotary_factor", "1.0 1 null", kWholeHeads),
    MustBe("rope_interleaved", "false null", kWholeHeads),
    ReadOrNull("layer_types", "null"),  // what the family's other fields say
    Ignored("pretraining_tp", kManner),
});

constexpr auto kLlama = std::to_array<ConfigField>({
    Read("vocab_size", "32000"),
    Read("max_position_embeddings", "2048"),
    Read("hidden_size", "4096"),
    Read("intermediate_size", "11008"),
    Read("num_hidden_layers", "32"),
    Read("num_attention_heads", "32"),
    ReadOrNull("num_key_value_heads", "null"),  // as many
    ReadOrNull("head_dim", "null"),             // hidden_size / num_attention_heads
    Read("rms_norm_eps", "1e-6"),
    ReadOrNull("eos_token_id", "2"),
    Read("tie_word_embeddings", "false"),
    Read("attention_bias", "false"),
    Read("mlp_bias", "false"),
    MustBe("hidden_act", kSilus, kOtherActivation),
    MustBe("sliding_window", "null", "the family's layers have no windows"),
    Ignored("max_sequence_length", kNotHere),
});

// Of a Ministral, too.
constexpr auto kMistral = std::to_array<ConfigField>({
    Read("vocab_size", "32000"),
    Read("max_position_embeddings", "131072"),
    Read("hidden_size", "4096"),
    Read("intermediate_size", "14336"),
    Read("num_hidden_layers", "32"),
    Read("num_attention_heads", "32"),
    ReadOrNull("num_key_value_heads", "8"),
    ReadOrNull("head_dim", "null"),
    Read("rms_norm_eps", "1e-6"),
    ReadOrNull("eos_token_id", "2"),
    Read("tie_word_embeddings", "false"),
    ReadOrNull("sliding_window", "4096"),  // null: none
    MustBe("hidden_act", kSilus, kOtherActivation),
    MustBe("attention_bias", "false null", kNoBias),
    MustBe("mlp_bias", "false null", kNoBias),
});

constexpr auto kQwen2 = std::to_array<ConfigField>({
    Read("vocab_size", "151936"),
    Read("max_position_embeddings", "32768"),
    Read("hidden_size", "4096"),
    Read("intermediate_size", "22016"),
    Read("num_hidden_layers", "32"),
    Read("num_attention_heads", "32"),
    ReadOrNull("num_key_value_heads", "32"),
    Read("head_dim", ""),  // hidden_size / num_attention_heads
    Read("rms_norm_eps", "1e-6"),
    ReadOrNull("eos_token_id", "null"),  // none
    Read("tie_word_embeddings", "false"),
    Read("use_sliding_window", "false"),
    ReadOrNull("sliding_window", "4096"),
    Read("max_window_layers", "28"),
    MustBe("hidden_act", kSilus, kOtherActivation),
    MustBe("mlp_bias", "false null", kNoBias),
    MustBe("use_mrope", "false null", "positions of pictures are not supported"),
    Ignored("attention_bias",
            "queries, keys and values always have biases, attention's outcome none"),
});

constexpr auto kQwen3 = std::to_array<ConfigField>({
    Read("vocab_size", "151936"),
    Read("max_position_embeddings", "32768"),
    Read("hidden_size", "4096"),
    Read("intermediate_size", "22016"),
    Read("num_hidden_layers", "32"),
    Read("num_attention_heads", "32"),
    ReadOrNull("num_key_value_heads", "32"),
    Read("head_dim", "128"),
    Read("rms_norm_eps", "1e-6"),
    ReadOrNull("eos_token_id", "null"),
    Read("tie_word_embeddings", "false"),
    Read("attention_bias", "false"),
    Read("use_sliding_window", "false"),
    ReadOrNull("sliding_window", "4096"),
    Read("max_window_layers", "28"),
    MustBe("hidden_act", kSilus, kOtherActivation),
    MustBe("mlp_bias", "false null", kNoBias),
});

// Of Gemma 2 and 3.
constexpr auto kGemma = std::to_array<ConfigField>({
    Read("hidden_size", "2304"),
    Read("intermediate_size", "9216"),
    Read("num_hidden_layers", "26"),
    Read("num_attention_heads", "8"),
    Read("num_key_value_heads", "4"),
    Read("head_dim", "256"),
    Read("rms_norm_eps", "1e-6"),
    ReadOrNull("eos_token_id", "1"),
    Read("tie_word_embeddings", "true"),
    Read("attention_bias", "false"),
    Read("query_pre_attn_scalar", "256"),
    ReadOrNull("sliding_window", "4096"),
    MustBe("hidden_activation", kTanhGelus, kOtherActivation),
    MustBe("mlp_bias", "false null", kNoBias),
    Ignored("hidden_act", "Hugging Face's class reads hidden_activation"),
    Ignored("sliding_window_size", "Hugging Face's class reads sliding_window"),
});

constexpr auto kGemma2 = std::to_array<ConfigField>({
    Read("vocab_size", "256000"),
    Read("max_position_embeddings", "8192"),
    ReadOrNull("attn_logit_softcapping", "50.0"),   // null: none
    ReadOrNull("final_logit_softcapping", "30.0"),  // null: none
    MustBe("sliding_window_pattern", "2", "every second layer has a window"),
    MustBe("_sliding_window_pattern", "2", "every second layer has a window"),
});

constexpr auto kGemma3 = std::to_array<ConfigField>({
    Read("vocab_size", "262208"),
    Read("max_position_embeddings", "131072"),
    ReadOrNull("final_logit_softcapping", "null"),
    Read("sliding_window_pattern", "6"),
    Read("rope_local_base_freq", ""),
    MustBe("attn_logit_softcapping", "null", "Hugging Face's class holds it and does not apply it"),
    Ignored("_sliding_window_pattern", "Hugging Face's class reads sliding_window_pattern"),
});

const std::array<FamilyTable, 8>& Tables() {
  static const std::array<FamilyTable, 8> tables = {{
      {"gpt2", {"GPT2LMHeadModel", "GPT2Model"}, {kGpt2, kShared}},
      {"llama", {"LlamaForCausalLM", "LlamaModel", "LLaMAForCausalLM"}, {kLlama, kRotary, kShared}},
      {"mistral", {"MistralForCausalLM", "MistralModel"}, {kMistral, kRotary, kShared}},
      // What transformers takes a Mistral with layer_types for, and calls it when it saves it.
      {"ministral", {"MinistralForCausalLM", "MinistralModel"}, {kMistral, kRotary, kShared}},
      {"qwen2", {"Qwen2ForCausalLM", "Qwen2Model"}, {kQwen2, kRotary, kShared}},
      {"qwen3", {"Qwen3ForCausalLM", "Qwen3Model"}, {kQwen3, kRotary, kShared}},
      {"gemma2", {"Gemma2ForCausalLM", "Gemma2Model"}, {kGemma2, kGemma, kRotary, kShared}},
      {"gemma3_text",
       {"Gemma3ForCausalLM", "Gemma3TextModel"},
       {kGemma3, kGemma, kRotary, kShared}},
  }};
  return tables;
}

}  // namespace

const FamilyTable* FindFamilyTable(std::string_view family) {
  for (const FamilyTable& table : Tables()) {
    if (table.family == family) return &table;
  }
  return nullptr;
}

std::string KnownFamilies() {
  std::string names;
  for (const FamilyTable& table : Tables()) {
    names += (names.empty() ? "" : ", ") + std::string(table.family);
  }
  return names;
}

}  // namespace submix::model
