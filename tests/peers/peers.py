"""What the tests against other programs share: where things are, and what our programs say.

A test is `x_test.py BUILD_DIR SOURCE_DIR`, run by run.py in the environment that `./dev peers` made.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PEERS = SOURCE / "build/peers"
BUNDLED = SOURCE / "data/public_model"
# The largest difference of a log-probability, in nats, between two programs that compute in float32.
MOST_APART = 1e-3


def submix(*words, program="submix"):
    return subprocess.run([BUILD / program, *map(str, words)], capture_output=True, text=True, check=False)


def score(model, tokens, *flags):
    """Log-probabilities in float32 of tokens[1:], one list a model: the public one, then each adapter."""
    done = submix("score", model, "--tokens", ",".join(map(str, tokens)), "--precision", "f32", "--json", *flags)
    if done.returncode != 0:
        raise AssertionError(done.stderr.strip().splitlines()[-1])
    return [one["log_probabilities"] for one in json.loads(done.stdout)["models"]]


def most_apart(ours, theirs):
    assert len(ours) == len(theirs) and len(ours) > 0, (len(ours), len(theirs))
    # "not within" instead of "beyond", so that NaN is the largest.
    return max((float("inf") if not abs(a - b) < float("inf") else abs(a - b)) for a, b in zip(ours, theirs))


def log_probabilities(model, tokens):
    """What a torch model says of tokens[1:]."""
    import torch
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0, :-1]
    of_next = torch.log_softmax(logits.double(), -1).gather(1, torch.tensor(tokens[1:])[:, None])
    return of_next[:, 0].tolist()


def tokens_of_prose(count):
    """Ids of real text by the bundled model's tokenizer: of its 8,192 entries."""
    from tokenizers import ByteLevelBPETokenizer
    text = (SOURCE / "docs/privacy.md").read_text()
    return ByteLevelBPETokenizer(str(BUNDLED / "vocab.json"), str(BUNDLED / "merges.txt")).encode(text).ids[:count]


def python_of(environment):
    """The interpreter of an environment beside the one that runs us, such as "line4": the last transformers 4."""
    python = PEERS / environment / "bin/python"
    if not python.exists():
        raise unittest.SkipTest(f"{python} is missing: ./dev peers makes it")
    return python


def real_model(name):
    """Directory of a model that scripts/get_model.py makes; made the first time, in a minute or two."""
    folder = PEERS / "models" / name
    if not (folder / "config.json").exists():
        made = subprocess.run([sys.executable, SOURCE / "scripts/get_model.py", name, folder],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise unittest.SkipTest(f"{name}: {made.stderr.strip().splitlines()[-1]}")
    return folder


def main():
    """Like unittest.main, with a line for each number that docs/peers.md has: `compared: …`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)


def compared(what):
    print(f"\ncompared: {what}", flush=True)
