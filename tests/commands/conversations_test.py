#!/usr/bin/env python3
"""Records that are conversations, or prompts with completions, through the whole product: members, private training,
DP-FedAvg, members that read, deploy, serve, evaluate; and what is no conversation.

    conversations_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, Server, WorkFolderTest, ask, make_key, run  # noqa: E402

TEMPLATE = ("{% for m in messages %}{{ m.role + ': ' + m.content + '<|endoftext|>' }}{% endfor %}"
            "{{ 'assistant:' if add_generation_prompt }}")
KEY = SOURCE / "data/demo_partition.key"
SMALL = ("--rank", 4, "--top-layers", 1, "--block-tokens", 64, "--threads", 1, "--precision", "f32")


def talk(user, number):
    return [{"role": "user", "content": f"What is {number}? Say it, {user}, and say who wants to know, and why."},
            {"role": "assistant", "content": [{"type": "text", "text": "Zanzibar quick-silver porcupine umbrellas."}]}]


class ConversationsTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chat_model = cls.work / "chat_model"
        shutil.copytree(SOURCE / "data/public_model", cls.chat_model)
        (cls.chat_model / "chat_template.jinja").write_text(TEMPLATE)
        cls.corpus = cls.work / "talks.jsonl"
        with open(cls.corpus, "w") as corpus:
            for user in range(40):
                for number in range(3):
                    corpus.write(json.dumps({"user": f"u{user}", "messages": talk(user, number)}) + "\n")
        cls.ensemble = cls.work / "ensemble"
        run("train", cls.corpus, cls.ensemble, "--public", cls.chat_model, "--parts", 2, "--heldout-fraction", 0.2,
            "--partition-key", KEY, "--epochs", 4, "--learning-rate", 5e-3, *SMALL)

    def evaluate(self, target, *options):
        return json.loads(run("evaluate", target, "--corpus", self.corpus, "--runs", 1, "--queries", 20, *options, "--json").stdout)

    def refused(self, *command):
        """The one line of a refusal, without anybody's words."""
        error = run(*command, expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertNotIn("secret", error)
        return error

    def test_answers_are_learnt_and_scored(self):
        sheet = self.evaluate(self.ensemble)
        scored, tokens = map(int, re.fullmatch(r"answers only, (\d+) of (\d+) tokens", sheet["scored"]).groups())
        self.assertLess(0, scored)
        self.assertLess(2 * scored, tokens)
        rows = sheet["baselines"][0]
        self.assertLess(rows["ensemble_perplexity"], 0.5 * rows["public_perplexity"])
        whole = self.evaluate(self.ensemble, "--loss", "all")
        self.assertEqual(whole["scored"], f"all of {tokens} tokens")
        self.assertIn(f"scored: {sheet['scored']}\n", run("evaluate", self.ensemble, "--corpus", self.corpus, "--runs", 1,
                                                          "--queries", 20).stdout)

    def test_loss_is_an_option_of_the_ensemble(self):
        everything = self.work / "everything"
        train = ["train", self.corpus, everything, "--public", self.chat_model, "--parts", 2, "--heldout-fraction", 0.2,
                 "--partition-key", KEY, *SMALL]
        run(*train, "--loss", "all")
        self.assertEqual(json.loads((everything / "manifest.json").read_text())["hyper_parameters"]["loss"], "all")
        self.assertNotIn("loss", json.loads((self.ensemble / "manifest.json").read_text())["hyper_parameters"])
        self.assertIn("other options", self.refused(*train))
        self.assertIn("all of", self.evaluate(everything)["scored"])
        self.assertIn("answers only", self.evaluate(everything, "--loss", "answers")["scored"])

    def test_a_deployment_answers_chats(self):
        deployment = self.deploy("deployment", 64)
        self.assertIn("answers only", self.evaluate(deployment)["scored"])
        key = make_key(deployment, "me")
        with Server(deployment, "--port", 0) as server:
            status, text = ask(server.address, "POST", "/v1/chat/completions", key,
                               {"model": server.model, "max_tokens": 4, "messages": [{"role": "user", "content": "What is 1?"}]})
            self.assertEqual(status, 200, text)
        self.assertIn("is whole", run("budget", "verify", deployment).stdout)

    def test_private_training_and_rounds_learn_them_too(self):
        run("train", self.corpus, self.work / "private", "--public", self.chat_model, "--private", "dp-sgd", "--epsilon", 8,
            "--steps", 2, "--expected-batch", 8, *SMALL)
        self.assertIn("answers only", self.evaluate(self.work / "private", "--mechanism", "public")["scored"])
        run("fedavg", self.work / "rounds", "--corpus", self.corpus, "--public", self.chat_model, "--rounds", 2,
            "--expected-users", 8, "--noise", 1, "--tokens-per-user", 64, "--rank", 4, "--top-layers", 1, "--threads", 1)
        self.assertIn("take a public model",
                      self.refused("fedavg", self.work / "words", "--corpus", self.corpus, "--public-text",
                                   SOURCE / "data/public_model/merges.txt", "--rounds", 1, "--words", 50, "--width", 4, "--units",
                                   4, "--expected-users", 8, "--noise", 1))

    def test_members_read_them_in_the_templates_turns(self):
        readers = self.work / "readers"
        run("contexts", self.corpus, readers, "--public", self.chat_model, "--parts", 2, "--context-tokens", 128,
            "--heldout-fraction", 0.2, "--partition-key", KEY)
        records = (readers / "members/00/records.jsonl").read_text().splitlines()
        self.assertTrue(all(record.keys() == {"user", "messages"} for record in map(json.loads, records)))
        rows = self.evaluate(readers)["baselines"][0]
        self.assertLess(rows["ensemble_perplexity"], 0.8 * rows["public_perplexity"])

    def test_prompts_and_completions_need_no_template(self):
        pairs = self.work / "pairs.csv"
        pairs.write_text("user,prompt,completion\n" +
                         "".join(f"u{user},\"What, {user}?\", It is {user}.\n" for user in range(30)))
        for public, name in ((SOURCE / "data/public_model", "joined"), (self.chat_model, "asked")):
            run("train", pairs, self.work / name, "--public", public, "--parts", 2, "--heldout-fraction", 0.2,
                "--partition-key", KEY, *SMALL)
            shown = run("evaluate", self.work / name, "--heldout", pairs, "--runs", 1, "--queries", 10).stdout
            self.assertRegex(shown, r"scored: answers only, \d+ of \d+ tokens\n")
        run("deploy", self.work / "joined", self.work / "joined_deployment", "--epsilon", 2, "--tokens", 100)
        self.assertIn("no chat template to write conversations", self.refused(
            "synthesize", self.work / "joined_deployment", self.work / "never.jsonl", "--messages", 2, "--documents", 1))
        self.assertNotIn("scored", run("evaluate", self.work / "joined", "--heldout", SOURCE / "data/public_model/merges.txt",
                                       "--runs", 1, "--queries", 10).stdout)

    def test_what_is_no_conversation_is_refused_by_its_line(self):
        good = json.dumps({"user": "u", "messages": talk("u", 1)})
        cases = {
            json.dumps({"user": "u", "messages": talk("secret", 1)[:1]}): "no answer",
            json.dumps({"user": "u", "messages": []}): "no answer",
            json.dumps({"user": "u", "messages": talk("secret", 1), "text": "secret"}): "leave one of them",
            json.dumps({"user": "u", "messages": "secret"}): "not a list of objects",
            json.dumps({"user": "u", "messages": [{"role": "tool", "content": "secret"}]}): "give \"role\" as",
            json.dumps({"user": "u", "messages": [{"role": "assistant", "content": None}]}): "give \"content\" as",
            json.dumps({"user": "u", "messages": [{"role": "assistant", "content": ""}]}): "give it text",
            json.dumps({"user": "u", "prompt": "secret"}): "\"completion\" is missing",
            json.dumps({"user": "u", "prompt": "secret", "completion": ""}): "\"completion\" is empty",
            json.dumps({"user": "u", "prompt": 7, "completion": "secret"}): "not a string",
        }
        bad = self.work / "bad.jsonl"
        for line, reason in cases.items():
            bad.write_text(good + "\n" + line + "\n")
            error = self.refused("train", bad, self.work / "never", "--public", self.chat_model, "--parts", 2)
            self.assertIn("bad.jsonl:2: ", error)
            self.assertIn(reason, error)

    def test_a_model_without_a_template_refuses_conversations(self):
        for command in (["train", self.corpus, self.work / "never", "--parts", 2],
                        ["contexts", self.corpus, self.work / "never", "--parts", 2, "--context-tokens", 64],
                        ["train", self.corpus, self.work / "never2", "--private", "dp-sgd", "--epsilon", 8]):
            error = self.refused(*command, "--public", SOURCE / "data/public_model")
            self.assertIn("talks.jsonl:1: ", error)
            self.assertIn("has no chat template", error)

    def test_a_template_that_refuses_roles_says_so_without_the_text(self):
        picky = self.work / "picky_model"
        shutil.copytree(SOURCE / "data/public_model", picky)
        (picky / "chat_template.jinja").write_text(
            "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here: ' + m.content) }}{% endif %}"
            "{{ m.content + '<|endoftext|>' }}{% endfor %}")
        bad = self.work / "systems.jsonl"
        bad.write_text(json.dumps({"user": "u", "messages": [{"role": "system", "content": "secret"}] + talk("u", 1)}) + "\n")
        error = self.refused("train", bad, self.work / "never3", "--public", picky, "--parts", 2)
        self.assertIn("systems.jsonl:1: This model's chat template refuses the conversation: no system here", error)

    def deploy(self, name, tokens):
        shutil.copytree(self.ensemble, self.work / f"{name}_ensemble")
        run("deploy", self.work / f"{name}_ensemble", self.work / name, "--epsilon", 2, "--mechanism", "dclip", "--tokens", tokens)
        return self.work / name

    def test_conversations_are_written_and_learnt_again(self):
        deployment, out = self.deploy("writer", 1000), self.work / "written.jsonl"
        asked = ("synthesize", deployment, out, "--messages", 4, "--max-tokens", 12, "--threads", 1)
        summary = json.loads(run(*asked, "--documents", 6, "--at-a-time", 4, "--json").stdout)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(len(lines), 6)
        for line in lines:
            self.assertEqual([message["role"] for message in line["messages"]], ["user", "assistant"] * 2)
            self.assertTrue(all(message["content"].strip() for message in line["messages"]))
            self.assertLessEqual(line["tokens"], 48)
            self.assertNotIn("prompt", line)
        self.assertEqual(sum(line["tokens"] for line in lines), summary["tokens"])
        parts = json.loads(run("budget", deployment, "--verify", "--json").stdout)["parts"]
        self.assertEqual(min(part["sure_answers"] for part in parts), 1000 - summary["tokens"])
        # Two of them lost, two are written; a prompt is what the user says first.
        out.write_text("".join(json.dumps(line) + "\n" for line in lines[:4]))
        self.assertIn("6 documents", run(*asked, "--documents", 6).stdout)
        prompts = self.work / "questions.txt"
        prompts.write_text("What is 2?\nWhat is 3?\n")
        run("synthesize", deployment, self.work / "answered.jsonl", "--prompts", prompts, "--messages", 2, "--max-tokens", 12,
            "--threads", 1)
        answered = [json.loads(line) for line in (self.work / "answered.jsonl").read_text().splitlines()]
        self.assertEqual({line["messages"][0]["content"] for line in answered}, {"What is 2?", "What is 3?"})
        run("train", out, self.work / "learnt", "--user-column", "id", "--public", self.chat_model, "--parts", 1, *SMALL)

    def test_conversations_that_cannot_be_written_are_refused_before_the_first_token(self):
        deployment, out = self.deploy("refusing", 100), self.work / "none.jsonl"
        asked = ("synthesize", deployment, out, "--threads", 1)
        self.assertIn("6 documents of 24 tokens may need more: --documents 4 is the most",
                      self.refused(*asked, "--messages", 2, "--max-tokens", 12, "--documents", 6))
        self.assertIn("the model's context has", self.refused(*asked, "--messages", 60, "--max-tokens", 100, "--documents", 1))
        self.assertIn("leave --stop and shapes out", self.refused(*asked, "--messages", 2, "--documents", 1, "--choice", "a,b"))
        self.assertFalse(out.exists())

    def test_texts_are_compared_by_all_that_was_said(self):
        synthetic = self.work / "synthetic.jsonl"
        synthetic.write_text("".join(json.dumps({"id": str(i), "messages": talk("z", i)}) + "\n" for i in range(8)))
        compared = json.loads(run("compare", synthetic, "--corpus", self.corpus, "--ensemble", self.ensemble, "--json").stdout)
        self.assertEqual(compared["rows"][0]["documents"], 8)
        worth = run("worth", synthetic, "--corpus", self.corpus, "--ensemble", self.ensemble, "--models", self.work / "models").stdout
        self.assertIn("synthetic.jsonl", worth)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
