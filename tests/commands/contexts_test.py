#!/usr/bin/env python3
"""Members by context through the whole product: contexts, deploy, generate, serve, evaluate, forget; adapters that read.

    contexts_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, Server, WorkFolderTest, ask, completion, make_key, run  # noqa: E402

PUBLIC = SOURCE / "data/public_model"
TEXT = "Zanzibar quick-silver {user}: the porcupine of {user} forgives umbrellas. "


class ContextsTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = cls.work / "text.jsonl"
        with open(cls.corpus, "w") as corpus:
            for user in "abcdefghijkl":
                for _ in range(3):
                    corpus.write(json.dumps({"user": user, "text": TEXT.format(user=user) * 3}) + "\n")

    def make(self, name, *options, tokens=64, parts=4, expect=0):
        return run("contexts", self.corpus, self.work / name, "--public", PUBLIC, "--parts", parts, "--context-tokens", tokens,
                   "--heldout-fraction", 0, "--partition-key", SOURCE / "data/demo_partition.key", *options, expect=expect)

    def refused(self, *command):
        """The one line of a refusal."""
        error = run(*command, expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        return error

    def records(self, ensemble):
        """All bytes that members read."""
        return b"".join(path.read_bytes() for path in sorted((ensemble / "members").rglob("records.jsonl")))

    def check_from_making_to_forgetting(self, retrieval):
        ensemble, deployment = self.work / f"by_{retrieval}", self.work / f"deployed_{retrieval}"
        shown = self.make(ensemble.name, "--retrieval", retrieval).stdout
        self.assertIn("4 parts, one member each, that read 64 tokens", shown)
        manifest = json.loads((ensemble / "manifest.json").read_text())
        self.assertEqual(manifest["contexts"], {"tokens": 64, "retrieval": retrieval})
        self.assertEqual(sum(member["steps"] for member in manifest["members"]), 36)
        for member in manifest["members"]:
            self.assertIn(member["directory"] + "/records.jsonl", manifest["file_sha256"])

        # Who has read such texts predicts another better; the private mixture lies between.
        heldout = self.work / "heldout.jsonl"
        heldout.write_text(json.dumps({"user": "z", "text": TEXT.format(user="z") * 3}) + "\n")
        sheet = json.loads(run("evaluate", ensemble, "--heldout", heldout, "--runs", 1, "--queries", 40, "--json").stdout)
        rows = sheet["baselines"][0]
        self.assertLess(rows["ensemble_perplexity"], 0.7 * rows["public_perplexity"], sheet)

        run("deploy", ensemble, deployment, "--epsilon", 2, "--queries", 64)
        run("generate", deployment, "Zanzibar quick-silver", "--max-tokens", 6)
        self.assertIn("is whole", run("budget", "verify", deployment).stdout)
        spent = json.loads(run("budget", deployment, "--json").stdout)["parts"]
        self.assertGreater(max(part["spent"] for part in spent), 0)
        key = make_key(deployment, "me")
        with Server(deployment, "--port", 0) as server:
            for _ in range(2):
                status, text = ask(server.address, "POST", "/v1/completions", key,
                                   completion(server.model, prompt="Zanzibar quick-silver of the porcupine " * 4))
                self.assertEqual(status, 200, text)
            server.stop()

        self.assertIn(TEXT.format(user="d").encode(), self.records(ensemble))
        shown = run("forget", ensemble, "--user", "d", "--deployment", deployment).stdout
        self.assertIn("reads without the user (generation 2)", shown)
        self.assertNotIn(TEXT.format(user="d").encode(), self.records(ensemble))
        self.assertEqual(self.records(ensemble).count(b"\n"), 33)
        run("generate", deployment, "Zanzibar", "--max-tokens", 3)
        self.assertIn("is whole", run("budget", "verify", deployment).stdout)
        later = json.loads(run("budget", deployment, "--json").stdout)["parts"]
        for before, after in zip(spent, later):
            self.assertGreaterEqual(after["spent"], before["spent"])

        # A record that somebody changed is found before it is read.
        records = next((ensemble / "members").rglob("records.jsonl"))
        records.write_text(records.read_text() + json.dumps({"user": "x", "text": "more"}) + "\n")
        self.assertIn("records.jsonl", self.refused("generate", deployment, "Zanzibar", "--max-tokens", 3))

    def test_fixed_records(self):
        self.check_from_making_to_forgetting("none")

    def test_records_that_match_the_query(self):
        self.check_from_making_to_forgetting("bm25")

    def test_batches_write_in_turns_and_each_user_is_in_one(self):
        ensembles, deployments, out = (self.work / name for name in ("her batches", "batch_budgets", "batches.jsonl"))
        shown = self.make(ensembles.name, "--batches", 3).stdout
        self.assertIn("holds 3 batches of 4 parts", shown)
        self.assertIn(f"submix deploy '{ensembles}' DEPLOYMENT", shown)
        names = [f"batch-{number}-of-3" for number in (1, 2, 3)]
        self.assertEqual(sorted(path.name for path in ensembles.iterdir()), names)
        readers = [{json.loads(line)["user"] for line in self.records(ensembles / name).splitlines()} for name in names]
        self.assertEqual(sum(map(len, readers)), len(set.union(*readers)))
        self.assertEqual(len(set.union(*readers)), 12)

        shown = run("deploy", ensembles, deployments, "--mechanism", "dclip", "--epsilon", 2, "--queries", 24).stdout
        self.assertIn("The other 2 batches were deployed alike", shown)
        asked = ("--template", "{label}: Zanzibar", "--labels", "odd:5,even:5", "--max-tokens", 6, "--threads", 1)
        self.assertIn("--documents 12 is the most", self.refused("synthesize", deployments, out, "--documents", 13, *asked))
        run("synthesize", deployments, out, "--documents", 4, *asked)
        summary = json.loads(run("synthesize", deployments, out, *asked, "--json").stdout)
        self.assertEqual((summary["documents"], summary["written_now"]), (10, 6))
        self.assertEqual(summary["promise"], json.loads(
            run("budget", deployments / names[2], "--json").stdout)["promise"])
        spent = [0, 0, 0]
        written = [json.loads(line) for line in out.read_text().splitlines()]
        for document in written:
            number = int(document["id"])
            spent[(number + number // 3) % 3] += document["tokens"]
        for name, tokens in zip(names, spent):
            parts = json.loads(run("budget", deployments / name, "--verify", "--json").stdout)["parts"]
            self.assertEqual({part["sure_answers"] for part in parts}, {24 - tokens})

        run("forget", ensembles, "--user", "d", "--deployment", deployments)
        self.assertEqual(sum(self.records(ensembles / name).count(b"\n") for name in names), 33)
        generations = [json.loads((ensembles / name / "manifest.json").read_text())["generation"] for name in names]
        self.assertEqual(sorted(generations), [1, 1, 2])
        self.assertIn("other deployment", self.refused("synthesize", deployments, out, *asked))
        changed = names[generations.index(2)]
        self.assertIn("(generation 2)", run("forget", ensembles, "--user", "d", "--deployment", deployments / changed).stdout)
        self.assertIn(str(ensembles / names[0]), self.refused("evaluate", ensembles, "--heldout", self.corpus))

        self.assertIn("one by one", self.refused("deploy", ensembles, self.work / "later", "--after", deployments / names[0]))
        (deployments / names[1]).rename(self.work / "lost")
        self.assertIn("bring back", self.refused("synthesize", deployments, self.work / "cut.jsonl", *asked))

    def train(self, name, *options):
        run("train", self.corpus, self.work / name, "--public", PUBLIC, "--parts", 4, "--rank", 2, "--targets", "c_attn",
            "--top-layers", 1, "--block-tokens", 32, "--batch-size", 2, "--epochs", 1, "--threads", 1, "--heldout-fraction", 0,
            "--partition-key", SOURCE / "data/demo_partition.key", *options)
        return self.work / name

    def adapters(self, ensemble):
        manifest = json.loads((ensemble / "manifest.json").read_text())
        return [(ensemble / member["directory"] / "adapter_model.safetensors").read_bytes() for member in manifest["members"]]

    def perplexity(self, ensemble, heldout):
        sheet = run("evaluate", ensemble, "--heldout", heldout, "--runs", 1, "--queries", 20, "--json").stdout
        return json.loads(sheet)["baselines"][0]["ensemble_perplexity"]

    def test_adapters_that_read(self):
        trained, ensemble, deployment = self.train("trained"), self.work / "reading", self.work / "reading_deployment"
        run("forget", trained, "--corpus", self.corpus, "--user", "a")
        corpus = self.work / "with_a_stranger.jsonl"
        corpus.write_text(self.corpus.read_text() + json.dumps({"user": "stranger", "text": TEXT.format(user="stranger")}) + "\n")
        shown = run("contexts", corpus, ensemble, "--adapters", trained, "--context-tokens", 64).stdout
        self.assertIn("trained on: 2.", shown)
        self.assertIn("4 parts, one member each, that read 64 tokens", shown)
        manifest = json.loads((ensemble / "manifest.json").read_text())
        self.assertEqual((manifest["format"], manifest["generation"], manifest["users"]), (4, 1, 11))
        self.assertEqual(manifest["contexts"], {"tokens": 64, "retrieval": "none", "adapters": True})
        self.assertEqual(self.adapters(ensemble), self.adapters(trained))
        self.assertEqual(self.records(ensemble).count(b"\n"), 33)
        for user in ("a", "stranger"):
            self.assertNotIn(TEXT.format(user=user).encode(), self.records(ensemble))

        # Both that it was trained on such texts and that it reads some help.
        heldout = self.work / "heldout_of_adapters.jsonl"
        heldout.write_text(json.dumps({"user": "z", "text": TEXT.format(user="z") * 3}) + "\n")
        self.make("only_reading")
        both = self.perplexity(ensemble, heldout)
        self.assertLess(both, self.perplexity(trained, heldout))
        self.assertLess(both, self.perplexity(self.work / "only_reading", heldout))

        run("deploy", ensemble, deployment, "--epsilon", 2, "--queries", 64)
        run("generate", deployment, "Zanzibar quick-silver", "--max-tokens", 6)
        self.assertIn("--corpus is required", self.refused("forget", ensemble, "--user", "d", "--deployment", deployment))
        shown = run("forget", ensemble, "--corpus", self.corpus, "--user", "d", "--deployment", deployment).stdout
        self.assertIn("was trained again and reads without the user (generation 2)", " ".join(shown.split()))
        self.assertNotIn(TEXT.format(user="d").encode(), self.records(ensemble))
        self.assertEqual(self.records(ensemble).count(b"\n"), 30)
        run("forget", trained, "--corpus", self.corpus, "--user", "d")
        self.assertEqual(self.adapters(ensemble), self.adapters(trained))
        run("generate", deployment, "Zanzibar", "--max-tokens", 3)
        self.assertIn("is whole", run("budget", "verify", deployment).stdout)

        again = self.work / "again"
        self.assertIn("read contexts", self.refused("contexts", self.corpus, again, "--adapters", ensemble))
        self.assertIn("whole model", self.refused("contexts", self.corpus, again, "--adapters", self.train_whole()))
        (trained / "users").unlink()
        self.assertIn("no list of its users", self.refused("contexts", self.corpus, again, "--adapters", trained))
        self.assertFalse(again.exists() or (self.work / "again.unfinished").exists())

    def train_whole(self):
        little = self.work / "little.jsonl"
        little.write_text(json.dumps({"user": "a", "text": TEXT.format(user="a")}) + "\n")
        run("train", little, self.work / "whole", "--public", PUBLIC, "--parts", 1, "--full", "--block-tokens", 32, "--batch-size", 1,
            "--threads", 1, "--heldout-fraction", 0)
        return self.work / "whole"

    def promised(self, report):
        """The cells of a promise, by label."""
        return {row["label"]: row for row in report["promise"]["table"]}

    def test_one_user_a_part_of_a_public_list(self):
        ensemble, deployment = self.work / "listed", self.work / "listed_deployment"
        self.make("listed", "--public-keys")
        users = [{json.loads(line)["user"] for line in path.read_text().splitlines()}
                 for path in (ensemble / "members").rglob("records.jsonl")]
        self.assertEqual([len(part) for part in users], [1] * 4)
        self.assertEqual(len(set.union(*users)), 4)
        shown = run("deploy", ensemble, deployment, "--mechanism", "dclip", "--unit", "user", "--epsilon", 8, "--queries", 64).stdout
        self.assertIn("the list of users is public", " ".join(shown.split()))
        run("generate", deployment, "Zanzibar", "--max-tokens", 3)
        table = self.promised(json.loads(run("budget", deployment, "--json").stdout))
        for label in ("(epsilon, delta)", "Renyi divergence"):
            self.assertEqual(table[label]["user"], table[label]["part"])
        epsilon = float(table["(epsilon, delta)"]["user"][1:].split(",")[0])
        self.assertTrue(7.9 < epsilon <= 8, table)
        self.assertIn("records emptied", table["neighbours"]["user"])

        self.assertIn("give --part", self.refused("audit", "epsilon", ensemble, "--text", self.corpus, "--user", "a"))

        # Measuring aims at the same, and says the same.
        sheet = json.loads(run("evaluate", ensemble, "--heldout", self.corpus, "--mechanism", "dclip", "--unit", "user", "--epsilon", 8,
                               "--runs", 1, "--queries", 64, "--json").stdout)
        evaluated = self.promised(sheet["settings"][0])
        self.assertEqual(evaluated["(epsilon, delta)"], table["(epsilon, delta)"])

        # Whoever is read is found, and leaves an empty part; the others stay.
        read = [user for user in "abcdefghijkl" if TEXT.format(user=user).encode() in self.records(ensemble)]
        self.assertEqual(len(read), 4)
        run("forget", ensemble, "--user", read[1], "--deployment", deployment)
        left = [user for user in "abcdefghijkl" if TEXT.format(user=user).encode() in self.records(ensemble)]
        self.assertEqual(left, read[:1] + read[2:])
        run("generate", deployment, "Zanzibar", "--max-tokens", 3)
        self.assertEqual(self.promised(json.loads(run("budget", deployment, "--json").stdout)), table)

        error = self.make("short_list", "--public-keys", parts=13, expect=1).stderr
        self.assertIn("users that are not held out: 12", error)
        self.assertIn("fewer --parts", error)
        self.assertFalse((self.work / "short_list").exists())

    def test_records_within_a_template(self):
        template = self.work / "template.txt"
        template.write_text("Review: {record}\n\n")
        self.make("reviews", "--template", template)
        self.assertEqual(json.loads((self.work / "reviews/manifest.json").read_text())["contexts"]["template"], template.read_text())
        run("deploy", self.work / "reviews", self.work / "reviews_deployment", "--epsilon", 2)
        run("generate", self.work / "reviews_deployment", "Review: Zanzibar", "--max-tokens", 3)
        for text, problem in (("Review: ", "once"), ("{record}{record}", "2 times"), ("x" * 500 + "{record}", "shorter --template")):
            template.write_text(text)
            self.assertIn(problem, self.make("refused_template", "--template", template, expect=1).stderr)
            self.assertFalse((self.work / "refused_template").exists())

    def test_a_key_that_nobody_had_is_never_forgotten(self):
        ensemble = self.work / "half"
        run("contexts", self.corpus, ensemble, "--public", PUBLIC, "--parts", 2, "--context-tokens", 64, "--heldout-fraction",
            0.5, "--partition-key", SOURCE / "data/demo_partition.key")
        for user in ("nobody", "a ", "A", *map(str, range(12))):
            self.assertIn("no member reads", self.refused("forget", ensemble, "--user", user))
            self.assertIn("no record of this user", self.refused("forget", ensemble, "--corpus", self.corpus, "--user", user))
        held_out = [user for user in "abcdefghijkl" if "was held out" in
                    run("forget", ensemble, "--corpus", self.corpus, "--user", user).stdout]
        self.assertTrue(0 < len(held_out) < 12, held_out)
        self.assertEqual(self.records(ensemble), b"")
        for user in held_out:
            self.assertIn("--corpus", self.refused("forget", ensemble, "--user", user))

    def test_a_record_of_several_owners_is_nobodys(self):
        """Members, of any kind, are as if it were not there; the operator is told how many there are."""
        alone, shared = self.work / "alone.jsonl", self.work / "shared.jsonl"
        lines = [json.dumps({"user": user, "text": f"The {user} went out.", "owners": [user]}) for user in "abcdefgh"]
        of_two = [json.dumps({"user": "a", "text": f"secret {n}", "owners": ["a", "b"]}) for n in range(3)]
        alone.write_text("\n".join(lines) + "\n")
        shared.write_text("\n".join(of_two[:1] + lines[:4] + of_two[1:] + lines[4:]) + "\n")
        options = ("--public", PUBLIC, "--parts", 2, "--heldout-fraction", 0, "--partition-key", SOURCE / "data/demo_partition.key")
        shown = run("contexts", shared, self.work / "shared_readers", *options, "--context-tokens", 64).stdout
        self.assertIn("3 records have several owners", " ".join(shown.split()))
        run("contexts", alone, self.work / "alone_readers", *options, "--context-tokens", 64)
        self.assertEqual(self.records(self.work / "shared_readers"), self.records(self.work / "alone_readers"))
        small = ("--rank", 2, "--targets", "c_attn", "--top-layers", 1, "--block-tokens", 32, "--threads", 1)
        members = []
        for name, corpus in (("shared", shared), ("alone", alone)):
            run("train", corpus, self.work / f"{name}_members", *options, *small)
            members.append([file.read_bytes() for file in sorted((self.work / f"{name}_members/members").rglob("*.safetensors"))])
            self.assertEqual(json.loads((self.work / f"{name}_members/manifest.json").read_text())["users"], 8)
        self.assertEqual(*members)

    def test_what_stands_out_is_said(self):
        corpus = self.work / "uneven.jsonl"
        with open(corpus, "w") as file:
            for user, text in (("Jos\u00e9", "x"), ("Jose\u0301", "x"), ("a", "long " * 9), ("b", "y")):
                file.write(json.dumps({"user": user, "text": text}) + "\n")
        shown = run("contexts", corpus, self.work / "uneven", "--public", PUBLIC, "--parts", 2, "--context-tokens", 64).stdout
        self.assertIn("2 user keys differ from another in Unicode form alone", shown)
        for private in ("Jos", "% of the text"):  # a cap is train's
            self.assertNotIn(private, shown)
        train = ("train", corpus, self.work / "uneven_trained", "--public", PUBLIC, "--parts", 2, "--rank", 2, "--targets",
                 "c_attn", "--top-layers", 1, "--block-tokens", 32, "--threads", 1, "--heldout-fraction", 0)
        shown = run(*train, "--tokens-per-user", 4).stdout
        self.assertNotIn("% of the text", shown)
        self.assertIn("2 user keys", shown)
        self.assertIn("holds an ensemble of other options", self.refused(*train))
        manifest = json.loads((self.work / "uneven_trained/manifest.json").read_text())
        self.assertEqual(manifest["hyper_parameters"]["tokens_per_user"], "4")
        shown = run(*train[:2], self.work / "uneven_whole", *train[3:]).stdout
        self.assertIn("one of the 4 users has 94 % of the text", shown)
        self.assertIn("--tokens-per-user N", shown)

    def test_what_cannot_be_is_refused(self):
        self.make("refusing")
        ensemble = self.work / "refusing"
        self.assertIn("not empty", self.make("refusing", expect=1).stderr)
        self.assertIn("--context-tokens", self.make("too_long", tokens=1000, expect=1).stderr)
        self.assertIn("--context-tokens", self.make("too_short", tokens=5, expect=1).stderr)
        (self.work / "broken.jsonl").write_text("{}\n")
        self.assertIn("broken.jsonl", self.refused("contexts", self.work / "broken.jsonl", self.work / "broken", "--public", PUBLIC))
        for name in ("too_long", "too_short", "broken", "broken.unfinished"):
            self.assertFalse((self.work / name).exists(), name)
        run("deploy", ensemble, self.work / "refusing_deployment", "--epsilon", 2)
        self.assertIn("--predictor cpu", self.refused("generate", self.work / "refusing_deployment", "The", "--predictor", "torch"))
        self.assertIn("read contexts", self.refused("evaluate", ensemble, "--corpus", self.corpus, "--fine-tuned", ensemble))
        self.assertIn("no member reads", self.refused("forget", ensemble, "--user", "nobody", "--deployment",
                                                      self.work / "refusing_deployment"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
