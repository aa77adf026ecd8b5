#!/usr/bin/env python3
"""Conversations as trainings read them, beside transformers' apply_chat_template: the tokens, and which are answers.

    conversations_test.py BUILD_DIR SOURCE_DIR

Answers are compared with the mask of templates that mark them ({% generation %}), and of real models' templates, which do
not, with what a conversation has behind the prompt that asks for its last answer.
"""

import json
import lzma
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from peers import BUILD, PEERS, SOURCE, compared, main

ORACLE = SOURCE.parent / "shared/data/oracle/tokenizers"
MARKED = """{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}
{{- m.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""


def message(role, content):
    return {"role": role, "content": content}


def conversations():
    texts = ["Where is it?", "At your door.", "Grüße, naïve Σίσυφος 日本語 🙂", " both ends ", "1234 5.6", "\n\na line\n", "x",
             "def f(x):\n    return x  # so\n", "many " * 200]
    for i, text in enumerate(texts):
        other = texts[(i + 1) % len(texts)]
        yield [message("user", text), message("assistant", other)]
        yield [message("user", other), message("assistant", text), message("user", text), message("assistant", "yes " + other)]
    yield [message("user", str(i)) if i % 2 == 0 else message("assistant", f"answer {i}") for i in range(20)]
    yield [message("system", "Be brief."), message("user", "a"), message("assistant", "b")]
    yield [message("assistant", "first"), message("user", "then"), message("assistant", "last")]


class Conversations(unittest.TestCase):
    def setUp(self):
        program = BUILD / "tests/write_conversation"
        if not program.exists():
            self.skipTest("tests/write_conversation is not built")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.close)
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ours(self, directory, messages):
        self.process.stdin.write(json.dumps({"directory": str(directory), "messages": messages}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def theirs(self, directory):
        from transformers import AutoTokenizer
        return AutoTokenizer.from_pretrained(directory)

    def test_answers_are_those_of_a_template_that_marks_them(self):
        directory = self.work / "marked"
        shutil.copytree(SOURCE / "testdata/tokenizer/families/smollm2", directory)
        (directory / "chat_template.jinja").write_text(MARKED)
        (directory / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}))
        tokenizer = self.theirs(directory)
        count = 0
        for messages in conversations():
            expected = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
            found = self.ours(directory, messages)
            self.assertEqual(found.get("tokens"), list(expected["input_ids"]), messages)
            self.assertEqual([int(counts) for counts in found["counts"]], list(expected["assistant_masks"]), messages)
            count += 1
        compared(f"conversations with marked answers: {count}")

    def models(self):
        for directory in sorted((PEERS / "models").glob("*")):
            if (directory / "chat_template.jinja").exists():
                yield directory
        for packed in sorted(ORACLE.glob("*")):
            directory = self.work / packed.name
            directory.mkdir()
            for file in packed.iterdir():
                if file.name.startswith("tokenizer"):
                    content = lzma.open(file).read() if file.suffix == ".xz" else file.read_bytes()
                    (directory / file.name.removesuffix(".xz")).write_bytes(content)
            config = json.loads((directory / "tokenizer_config.json").read_text())
            if "chat_template" in config:
                yield directory

    def test_the_last_answer_is_what_stands_behind_its_prompt(self):
        counts = {}
        for directory in self.models():
            tokenizer = self.theirs(directory)
            for messages in conversations():
                try:
                    whole = tokenizer.apply_chat_template(messages, return_dict=False, date_string="26 Jul 2024")
                    prompt = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True, return_dict=False,
                                                           date_string="26 Jul 2024")
                except Exception as error:  # a template refuses it  # pylint: disable=broad-except
                    self.assertIn("error", self.ours(directory, messages), (directory, messages, error))
                    continue
                found = self.ours(directory, messages)
                self.assertEqual(found.get("tokens"), whole, (directory.name, messages, found.get("error")))
                if whole[:len(prompt)] != prompt:
                    continue  # the answer's beginning and the prompt's end share a token
                answer = found["counts"][len(prompt):]
                self.assertTrue(answer[0] and not any(found["counts"][len(prompt) - 1:len(prompt)]), (directory.name, messages))
                # Behind the turn's end there is white space at most, or the beginning of an answer nobody asked for.
                rest = tokenizer.decode([token for token, counted in zip(whole[len(prompt):], answer) if not counted])
                self.assertTrue(tokenizer.decode(prompt).strip().endswith(rest.strip()), (directory.name, messages, rest))
                self.assertEqual(sorted(answer, reverse=True), answer)
                counts[directory.name] = counts.get(directory.name, 0) + 1
        if not counts:
            self.skipTest("no model with a chat template: ../shared and build/peers/models")
        for name, count in counts.items():
            self.assertGreaterEqual(count, 10, name)
            compared(f"last answers behind their prompts, {name}: {count}")


if __name__ == "__main__":
    main()
