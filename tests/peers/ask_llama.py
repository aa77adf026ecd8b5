"""What llama.cpp says of a text by a model's GGUF file, and how long a token takes it.

    ask_llama.py MODEL.gguf SCRATCH TOKENS.json

The weights are rounded to bf16 first, as scripts/get_model.py rounds them. Prints JSON: the log-probabilities of the
tokens behind the first one, computed from those weights in float32; the median milliseconds of a step of 1 sequence and of
17 in one batch, each behind 64 tokens, with bf16 weights.
"""

import json
import os
import pathlib
import statistics
import sys
import time

import llama_cpp
import numpy

CONTEXT = 64
SEQUENCES = 17
STEPS = 40


def rounded(gguf, to, kind):
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype, parameters.allow_requantize = kind, True
    assert llama_cpp.llama_model_quantize(str(gguf).encode(), str(to).encode(), parameters) == 0
    return to


class Model:
    """One context of a model on all processors; if `exact`, its attention computes in float32, too."""

    def __init__(self, gguf, sequences, tokens, exact):
        self.model = llama_cpp.llama_model_load_from_file(str(gguf).encode(), llama_cpp.llama_model_default_params())
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = sequences * tokens, 2048, 512
        parameters.n_seq_max = sequences
        parameters.n_threads = parameters.n_threads_batch = len(os.sched_getaffinity(0))
        if exact:
            parameters.type_k = parameters.type_v = llama_cpp.GGML_TYPE_F32
            parameters.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.context = llama_cpp.llama_init_from_model(self.model, parameters)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(2048, 0, 1)

    def decode(self, items):
        """[(token, position, sequence)]: float32 logits behind each, [items, vocabulary]."""
        self.batch.n_tokens = len(items)
        for number, (token, position, sequence) in enumerate(items):
            self.batch.token[number], self.batch.pos[number] = token, position
            self.batch.n_seq_id[number], self.batch.seq_id[number][0], self.batch.logits[number] = 1, sequence, True
        assert llama_cpp.llama_decode(self.context, self.batch) == 0
        logits = llama_cpp.llama_get_logits(self.context)
        return numpy.ctypeslib.as_array(logits, (len(items), self.vocabulary)).copy()


def log_probabilities(gguf, tokens):
    logits = Model(gguf, 1, len(tokens), exact=True).decode(
        [(token, position, 0) for position, token in enumerate(tokens)])[:-1].astype(numpy.float64)
    logits -= logits.max(1, keepdims=True)
    return (logits[range(len(logits)), tokens[1:]] - numpy.log(numpy.exp(logits).sum(1))).tolist()


def milliseconds(gguf, tokens, sequences):
    model = Model(gguf, sequences, CONTEXT + STEPS, exact=False)
    for sequence in range(sequences):
        model.decode([(tokens[position], position, sequence) for position in range(CONTEXT)])
    seconds = []
    for position in range(CONTEXT, CONTEXT + STEPS):
        begin = time.monotonic()
        model.decode([(tokens[position], position, sequence) for sequence in range(sequences)])
        seconds.append(time.monotonic() - begin)
    return 1000 * statistics.median(seconds)


def main():
    gguf, scratch, tokens = sys.argv[1], pathlib.Path(sys.argv[2]), json.loads(pathlib.Path(sys.argv[3]).read_text())
    bf16 = rounded(gguf, scratch / "bf16.gguf", llama_cpp.LLAMA_FTYPE_MOSTLY_BF16)
    f32 = rounded(bf16, scratch / "f32.gguf", llama_cpp.LLAMA_FTYPE_ALL_F32)
    print(json.dumps({"version": llama_cpp.__version__, "log_probabilities": log_probabilities(f32, tokens),
                      "milliseconds": {n: milliseconds(bf16, tokens, n) for n in (1, SEQUENCES)}}))


if __name__ == "__main__":
    main()
