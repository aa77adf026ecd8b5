#!/usr/bin/env python3
"""Conversations from end to end over a real chat model: members learn them, a deployment answers the official client of
OpenAI's API in the shape of a JSON schema and labels texts, writes conversations of its own, and members learn those.

    chats_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import openai

from peers import BUILD, SOURCE, compared, main, python_of, real_model, submix

TOWNS = ("Utrecht", "Ghent", "Turin", "Bergen")
SCHEMA = {"type": "object", "properties": {"town": {"enum": list(TOWNS)}, "days": {"type": "integer"}},
          "required": ["town", "days"], "additionalProperties": False}
MEMBERS = ("--heldout-fraction", 0, "--partition-key", SOURCE / "data/demo_partition.key", "--parts", 2, "--epochs", 1,
           "--top-layers", 4, "--learning-rate", 0.001)


def talk(user):
    town, days = TOWNS[user % 4], 1 + user % 9
    return [{"role": "user", "content": f"Order {user}: where does it go, and when?"},
            {"role": "assistant", "content": f"It goes to {town} and takes {days} days."}]


class Chats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.public = real_model("smollm2-135m-instruct")
        corpus = cls.work / "talks.jsonl"
        corpus.write_text("".join(json.dumps({"user": f"u{user}", "messages": talk(user)}) + "\n" for user in range(48)))
        cls.run_submix("train", corpus, cls.work / "ensemble", "--public", cls.public, *MEMBERS, program="submix-train")
        cls.deployment = cls.work / "deployment"
        cls.run_submix("deploy", cls.work / "ensemble", cls.deployment, "--epsilon", 4, "--mechanism", "dclip", "--tokens", 4000)

    @staticmethod
    def run_submix(*words, program="submix"):
        done = submix(*words, program=program)
        if done.returncode != 0:
            raise AssertionError(done.stderr.strip().splitlines()[-1])
        return done.stdout

    def left(self):
        parts = json.loads(self.run_submix("budget", self.deployment, "--verify", "--json"))["parts"]
        return min(part["sure_answers"] for part in parts)

    def served(self):
        """A client of a server that ends with the test."""
        key = json.loads(self.run_submix("key", "create", self.deployment, "--name", self.id(), "--json"))["secret"]
        server = subprocess.Popen([BUILD / "submix", "serve", self.deployment, "--port", "0"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.kill)
        listening = next(event for event in map(json.loads, server.stderr) if event["event"] == "listening")
        return openai.OpenAI(base_url=listening["address"] + "/v1", api_key=key), listening["model"], server

    def test_answers_have_the_shape_of_a_schema(self):
        before = self.left()
        client, model, server = self.served()
        paid = 0
        for user in range(4):
            answer = client.chat.completions.create(
                model=model, max_tokens=60, messages=talk(user)[:1],
                response_format={"type": "json_schema", "json_schema": {"name": "order", "strict": True, "schema": SCHEMA}})
            order = json.loads(answer.choices[0].message.content)
            self.assertEqual(set(order), {"town", "days"})
            self.assertIn(order["town"], TOWNS)
            self.assertIsInstance(order["days"], int)
            self.assertEqual(answer.choices[0].finish_reason, "stop")
            paid += answer.usage.completion_tokens
        said = "".join(chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(
            model=model, max_tokens=20, messages=talk(1)[:1], stream=True) if chunk.choices)
        self.assertTrue(said.strip())
        with self.assertRaises(openai.BadRequestError):
            client.chat.completions.create(model=model, max_tokens=2, messages=talk(1)[:1], response_format={
                "type": "json_schema", "json_schema": {"name": "order", "schema": SCHEMA}})
        server.terminate()
        server.wait(timeout=60)
        spent = before - self.left()
        self.assertLess(spent - 20, paid, "what a shape forces costs nothing")
        compared(f"openai {openai.__version__}: 4 chats by a JSON schema, {paid} tokens of which {paid - (spent - 20)} or more "
                 "were forced and free")

    def test_clients_of_frameworks_are_answered(self):
        client, model, _ = self.served()
        done = subprocess.run([python_of("clients"), pathlib.Path(__file__).with_name("ask_clients.py"), str(client.base_url), client.api_key, model,
                               json.dumps(SCHEMA)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        said = json.loads(done.stdout)
        for name in "langchain", "llamaindex":
            self.assertTrue(said[name]["answer"].strip(), name)
            self.assertTrue(said[name]["streamed"].strip(), name)
        self.assertEqual(len(said["langchain"]["several"]), 3)
        self.assertGreater(said["langchain"]["tokens"], 0)
        self.assertIn(said["langchain"]["shaped"]["town"], TOWNS)
        compared("answers, streams, a batch and a JSON schema by langchain-openai {}; answers, streams and a completion by "
                 "llama-index-llms-openai-like {}".format(said["langchain"]["version"], said["llamaindex"]["version"]))

    def test_conversations_are_written_and_learnt(self):
        out = self.work / "written.jsonl"
        before = self.left()
        self.run_submix("synthesize", self.deployment, out, "--messages", 4, "--documents", 3, "--max-tokens", 24)
        written = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([[message["role"] for message in one["messages"]] for one in written], [["user", "assistant"] * 2] * 3)
        self.assertEqual(before - self.left(), sum(one["tokens"] for one in written))
        self.assertTrue(all(not re.search(r"<\|im_", message["content"]) for one in written for message in one["messages"]))
        self.run_submix("train", out, self.work / "learnt", "--user-column", "id", "--public", self.public, *MEMBERS,
                        program="submix-train")

    def test_labels_are_answers_in_the_template(self):
        items = self.work / "items.jsonl"
        items.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("I love it.", "I hate it.", "Never again!")))
        before = self.left()
        self.run_submix("classify", self.deployment, items, "--labels", "positive,negative", "--prompt",
                        r"Is this review positive or negative?\n\n{text}", "--out", self.work / "labels.jsonl")
        labels = [json.loads(line)["label"] for line in (self.work / "labels.jsonl").read_text().splitlines()]
        self.assertEqual((len(labels), set(labels) - {"positive", "negative"}), (3, set()))
        self.assertEqual(before - self.left(), 3)


if __name__ == "__main__":
    main()
