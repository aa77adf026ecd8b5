// Every reader of foreign bytes as libFuzzer calls it (docs/fuzzing.md). A target feeds one input
// to the product's own reader and checks what must hold of whatever the reader accepts; it may not
// crash, leak, hang or take memory without bound. One thread at a time.
#pragma once

#include <string_view>

namespace submix::fuzz {

void FuzzAdapter(std::string_view input);  // adapter_config.json ==== adapter_model.safetensors
void FuzzChatTemplate(std::string_view input);  // Jinja ==== a message; tokenizer_config.json
void FuzzCorpus(std::string_view input);        // JSONL, .xz, or JSONL to be packed and damaged
void FuzzDeployment(std::string_view input);    // deployment.json and keys.json
void FuzzHttpBody(std::string_view input);      // of POST /v1/completions and /v1/chat/completions
void FuzzHttpHead(std::string_view input);      // of any request, and a body in chunks
void FuzzLedgerChain(std::string_view input);   // records, or the anchor's file
void FuzzLedgerFile(std::string_view input);    // edits of a ledger's SQLite file
void FuzzLogitsHello(std::string_view input);   // what a process that computes logits says first
void FuzzManifest(std::string_view input);      // manifest.json and private_training.json
void FuzzModelConfig(std::string_view input);   // config.json
void FuzzSafetensors(std::string_view input);
void FuzzServeConfig(std::string_view input);  // the TOML of `submix serve --config`
void FuzzShape(
    std::string_view input);  // a regular expression or a JSON schema ==== tokens to take
// tokenizer.json ==== a text ==== tokenizer_config.json ==== added_tokens.json, or vocab.json ====
// merges.txt ==== a text
void FuzzTokenizer(std::string_view input);

}  // namespace submix::fuzz
