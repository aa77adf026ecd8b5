#!/usr/bin/env python3
"""SmolLM2-135M-Instruct by llama.cpp, from the GGUF file that it comes in: log-probabilities, and milliseconds a token.

    llama_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from peers import BUILD, MOST_APART, SOURCE, compared, main, most_apart, python_of, real_model, score

sys.path.insert(0, str(SOURCE / "scripts"))
import get_model

MODEL = "smollm2-135m-instruct"
TOKENS = 1000


class LlamaTest(unittest.TestCase):
    def test_a_text_and_the_time_of_a_token(self):
        from transformers import AutoTokenizer
        python, model = python_of("llama"), real_model(MODEL)
        tokens = AutoTokenizer.from_pretrained(model).encode((SOURCE / "docs/privacy.md").read_text())[:TOKENS]
        with tempfile.TemporaryDirectory(prefix="submix_llama_") as scratch:
            scratch = pathlib.Path(scratch)
            get_model.assemble_gguf(get_model.SOURCES[MODEL], scratch / "model.gguf", scratch)
            (scratch / "tokens.json").write_text(json.dumps(tokens))
            done = subprocess.run([python, pathlib.Path(__file__).with_name("ask_llama.py"), scratch / "model.gguf", scratch,
                                   scratch / "tokens.json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        theirs = json.loads(done.stdout.splitlines()[-1])
        apart = most_apart(score(model, tokens)[0], theirs["log_probabilities"])
        self.assertLess(apart, MOST_APART)
        timed = subprocess.run([BUILD / "decode_benchmark", "--model", model, "--members", "1,17", "--context", "64", "--precision",
                                "bf16", "--adapters", "all", "--rank", "16", "--steps", "40", "--json"], capture_output=True, text=True, check=True)
        ours = {line["members"]: line["ms_per_step"] for line in map(json.loads, timed.stdout.splitlines()) if "members" in line}
        compared(f"{MODEL}, {TOKENS} tokens by llama-cpp-python {theirs['version']}, float32: {apart:.1e}")
        compared(f"a step with bf16 weights behind 64 tokens: one row {ours[1]:.1f} ms, by llama.cpp {theirs['milliseconds']['1']:.1f}; the model "
                 f"and 16 adapters on all layers {ours[17]:.1f} ms, 17 sequences of llama.cpp without adapters {theirs['milliseconds']['17']:.1f}")


if __name__ == "__main__":
    main()
