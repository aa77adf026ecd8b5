#!/usr/bin/env python3
"""Training and private serving where torch runs, CUDA where there is some: what benchmarks/device_check.sh starts.

    device_check.py WORK [--shape tiny|1b|3b] [--minutes 8]

A model of random weights in the shape of a real one, over the bundled tokenizer, so that nothing is fetched. submix.peft
trains 16 adapters, and 64 hardly; then each ensemble generates, one sequence and eight, every token paid for in a ledger
on this disk before it is known. A line of JSON for each measurement: medians over the tokens, and the share of a token's
time that is Submix's (mechanism and durable charge) and not the model's.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys
import time
import warnings

import torch
import transformers

import submix
import submix.peft
from submix._transformers_predictor import TransformersPredictor

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUNDLED = SOURCE / "data/public_model"
ENDS = {"bos_token_id": 8191, "eos_token_id": 8191, "pad_token_id": 8191}
SHAPES = {  # of Llamas: SmolLM2's hundredth, TinyLlama's, Llama 3.2 3B's
    "tiny": {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2},
    "1b": {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4},
    "3b": {"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8},
}
TOP_LAYERS = {"tiny": 2, "1b": 8, "3b": 10}


def say(**measured):
    print(json.dumps(measured), flush=True)


def make_public(directory, shape):
    config = transformers.LlamaConfig(vocab_size=8192, max_position_embeddings=1024, **ENDS, **SHAPES[shape])
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(directory)
    for name in "vocab.json", "merges.txt":
        shutil.copy(BUNDLED / name, directory)


def synchronise():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def trained(work, public, parts, texts, shape):
    """The ensemble, and what its training took."""
    begin = time.perf_counter()
    ensemble = submix.peft.train(texts, str(work / f"ensemble{parts}"), public=public, parts=parts, heldout_fraction=0.0, epochs=1,
                                 batch_size=8, rank=16, top_layers=TOP_LAYERS[shape], progress=False, checkpoint_every=0)
    synchronise()
    seconds = time.perf_counter() - begin
    with submix.peft.corpus_file(texts) as corpus:
        tokens = sum(len(block) - 1 for user in submix.read_users(corpus, str(public)) for block in user)
    say(what="training", shape=shape, parts=parts, tokens=tokens, seconds=round(seconds, 1), tokens_per_second=round(tokens / seconds))
    return ensemble


def generated(deployment, predictor, sequences, prompt, until):
    """Milliseconds a step of the models, and of Submix, for each of at most 64 steps."""
    sampler, running = deployment.sampler(), [submix.LogitsSequence(number) for number in range(sequences)]
    for sequence in running:
        sequence.tokens, sequence.new = list(prompt), len(prompt)
    models, ours = [], []
    for _ in range(65):
        begin = time.perf_counter()
        logits = predictor.predict(running)
        between = time.perf_counter()
        sampled = sampler.sample_batch(list(logits))
        models.append(1e3 * (between - begin))
        ours.append(1e3 * (time.perf_counter() - between))
        for sequence, one in zip(running, sampled):
            sequence.tokens, sequence.new = [*sequence.tokens, one.token], 1
        if time.monotonic() > until:
            break
    return models[1:] or models, ours[1:] or ours  # without the prompt's step


def measure(work, ensemble, shape, until):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a delta for so few users
        submix.deploy(ensemble, ensemble + "_deployment", mechanism="dclip", epsilon=8, queries=8192)
    with submix.open(ensemble + "_deployment") as deployment:
        predictor = TransformersPredictor(deployment.public_model, deployment.members)
        alone = TransformersPredictor(deployment.public_model, deployment.members[:1])
        alone.names = ["__base__"]
        prompt = list(range(100, 132))
        of_one = statistics.median(generated_alone(alone, prompt, until))
        say(what="the public model alone", shape=shape, rows=1, ms=round(of_one, 2))
        for sequences in 1, 8:
            models, ours = (statistics.median(times) for times in generated(deployment, predictor, sequences, prompt, until))
            say(what="private tokens", shape=shape, rows=predictor.rows, sequences=sequences, model_ms=round(models, 2),
                submix_ms=round(ours, 2), share_of_submix=round(ours / (models + ours), 4),
                tokens_per_second=round(1e3 * sequences / (models + ours), 1), times_one_row=round((models + ours) / sequences / of_one, 2))


def generated_alone(predictor, prompt, until):
    sequence, times = submix.LogitsSequence(0), []
    sequence.tokens, sequence.new = list(prompt), len(prompt)
    for _ in range(33):
        begin = time.perf_counter()
        token = int(predictor.predict([sequence])[0, 0].argmax())
        times.append(1e3 * (time.perf_counter() - begin))
        sequence.tokens, sequence.new = [*sequence.tokens, token], 1
        if time.monotonic() > until:
            break
    return times[1:] or times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("work", type=pathlib.Path, help="a new folder")
    parser.add_argument("--shape", choices=SHAPES, default="1b" if torch.cuda.is_available() else "tiny")
    parser.add_argument("--minutes", type=float, default=8)
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    arguments.work.mkdir(parents=True)
    say(what="machine", torch=torch.__version__, device=torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu")
    public = arguments.work / "public"
    make_public(public, arguments.shape)
    records = [json.loads(line) for line in (SOURCE / "data/shakespeare.jsonl").read_text(encoding="utf-8").splitlines()]
    pairs = [(record["user"], record["text"]) for record in records]
    few = [(f"user {n}", " ".join(text for _, text in pairs[8 * n : 8 * n + 8])) for n in range(128)]
    for parts, texts in (16, pairs if arguments.shape != "tiny" else few), (64, few):
        ensemble = trained(arguments.work, public, parts, texts, arguments.shape)
        if time.monotonic() > until:
            sys.exit(f"device_check.py: {arguments.minutes:g} minutes are over")
        measure(arguments.work, ensemble, arguments.shape, until)


if __name__ == "__main__":
    main()
