"""The logits of an ensemble by one of our predictors, in whichever Python has it.

    predict_rows.py transformers|vllm ENSEMBLE TOKENS.json ROWS.npy

Reads a text a token at a time; from its eleventh token on beside a second sequence, the same text from its sixth token.
ROWS.npy: log-probabilities of the first text's tokens, [models, tokens - 1]. Prints, as JSON, how far apart the second
sequence's last logits are from those of a third that reads it at once.
"""

import contextlib
import json
import sys

import numpy
import torch

import submix


def transformers_predictor(public, members):
    from submix._transformers_predictor import TransformersPredictor
    return contextlib.nullcontext(TransformersPredictor(public, members))


def vllm_predictor(public, members):
    from submix._vllm_predictor import VllmPredictor
    # So few tokens a step that a prompt of all models takes many, each with a part of the models.
    return VllmPredictor(public, members, sequences=3, dtype="float32", max_model_len=256, max_num_batched_tokens=64)


def read(predictor, tokens):
    first, second, third = (submix.LogitsSequence(number) for number in range(3))
    said = []
    for end in range(1, len(tokens)):
        first.tokens, first.new = tokens[:end], 1
        running = [first]
        if end > 10:
            second.tokens, second.new = tokens[5:end], 1 if second.state else end - 5
            running.append(second)
        rows = predictor.predict(running)
        assert rows.shape == (len(running), predictor.rows, predictor.vocabulary), rows.shape
        said.append(torch.log_softmax(torch.tensor(rows[0]).double(), -1)[:, tokens[end]].numpy())
    third.tokens, third.new = second.tokens, len(second.tokens)
    return numpy.stack(said, 1), float(abs(predictor.predict([third])[0] - rows[1]).max())


def main():
    kind, directory, tokens, output = sys.argv[1:]
    ensemble = submix.Ensemble(directory)
    load = {"transformers": transformers_predictor, "vllm": vllm_predictor}[kind]
    with load(ensemble.public_model, ensemble.members) as predictor, open(tokens) as file:
        said, apart = read(predictor, json.load(file))
    numpy.save(output, said)
    print(json.dumps(apart))


if __name__ == "__main__":
    main()
