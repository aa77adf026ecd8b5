#!/usr/bin/env python3
"""What a step costs through `import submix` beside the same step in C++ (sampler_benchmark): 17 rows of 50,257 float32.

    PYTHONPATH=build/release/python python3 benchmarks/python_overhead.py build/release [--rounds 5] [--steps 40]

Both run in turns, on the disk of the working folder; a line for each number of sequences: the median over the rounds of
each one's median step, and the least and the most.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy

import submix

PARTS, VOCABULARY = 16, 50257
SOURCE = pathlib.Path(__file__).resolve().parent.parent


def make_deployment(build, work):
    """The logits are ours, so that a hardly trained ensemble will do."""
    with open(work / "text.jsonl", "w") as corpus:
        for user in range(8 * PARTS):
            corpus.write(json.dumps({"user": f"u{user}", "text": f"User {user} went out to see the sea and the hill."}) + "\n")
    subprocess.run([build / "submix", "train", work / "text.jsonl", work / "ensemble", "--public",
                    SOURCE / "data/public_model", "--parts", str(PARTS), "--rank", "2", "--targets", "c_attn",
                    "--top-layers", "1", "--block-tokens", "32", "--heldout-fraction", "0", "--partition-key",
                    SOURCE / "data/demo_partition.key"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a delta for so few users
        submix.deploy(str(work / "ensemble"), str(work / "deployment"), epsilon=1000, target_leakage=1e-3)
    return str(work / "deployment")


def milliseconds_in_python(sampler, logits, sequences, steps):
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        if sequences == 1:
            sampler.sample(logits)
        else:
            sampler.sample_batch([logits] * sequences)
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


def milliseconds_in_cpp(build, work, sequences, steps):
    line = subprocess.run([build / "sampler_benchmark", "--json", "--parts", str(PARTS), "--vocabulary", str(VOCABULARY),
                           "--sequences", str(sequences), "--steps", str(steps), "--directory", work],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(line)["step_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        work = pathlib.Path(folder)
        logits = numpy.random.default_rng(1).normal(size=(1 + PARTS, VOCABULARY)).astype(numpy.float32)
        with submix.open(make_deployment(build, work)) as deployment:
            sampler = deployment.sampler()
            for sequences in (1, 64):
                rounds = [(milliseconds_in_python(sampler, logits, sequences, arguments.steps),
                           milliseconds_in_cpp(build, work, sequences, arguments.steps)) for _ in range(arguments.rounds)]
                result = {"benchmark": "python_overhead", "rows": 1 + PARTS, "vocabulary": VOCABULARY, "sequences": sequences}
                for name, values in zip(("python_ms", "cpp_ms"), zip(*rounds)):
                    result[name] = round(statistics.median(values), 3)
                    result[name + "_range"] = [round(min(values), 3), round(max(values), 3)]
                print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
