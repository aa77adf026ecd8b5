#!/usr/bin/env python3
"""Token ids of a megabyte of text in 21 languages, by real tokenizers: those of the models of scripts/get_model.py, as
our reader and Hugging Face's tokenizers make them.

    real_tokenizers_test.py BUILD_DIR SOURCE_DIR
"""

import json
import subprocess
import unittest

from peers import BUILD, PEERS, compared, main, real_model
from texts import texts


def ids_by_us(folder, some):
    """Where the contents of special tokens become these, as in a template's own text and with Hugging Face."""
    question = json.dumps({"directory": str(folder), "texts": [text.encode().hex() for text in some]})
    done = subprocess.run([BUILD / "print_token_ids"], input=question + "\n", capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert "templated" in answer, answer
    return answer["templated"]


@unittest.skipUnless((BUILD / "print_token_ids").exists(), "print_token_ids is not built")
class RealTokenizersTest(unittest.TestCase):
    def compare(self, name):
        from tokenizers import Tokenizer
        folder = real_model(name)
        theirs = Tokenizer.from_file(str(folder / "tokenizer.json"))
        by_language = texts(PEERS / "texts")
        some = [text for of_language in by_language.values() for text in of_language]
        tokens = 0
        for text, ours in zip(some, ids_by_us(folder, some)):
            ids = theirs.encode(text, add_special_tokens=False).ids
            tokens += len(ids)
            self.assertEqual(ours, ids, text[:80])
        compared(f"{name}: {len(some)} texts in {len(by_language)} languages, {sum(len(text.encode()) for text in some):,} bytes, "
                 f"{tokens:,} ids: all equal")

    def test_smollm2(self):
        self.compare("smollm2-135m-instruct")

    def test_gemma_3(self):
        self.compare("gemma-3-270m")


if __name__ == "__main__":
    main()
