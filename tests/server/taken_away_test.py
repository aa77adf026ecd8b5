#!/usr/bin/env python3
"""The files of a ledger are deleted, or replaced by an older copy, under `submix serve`. It notices at the
next token, which nobody gets; says once which file, and what to do; and no command takes the place for
one where a ledger is to be made. The same of what keys have used, and of weights.

    taken_away_test.py BUILD_DIR SOURCE_DIR
"""

import json
import shutil
import subprocess

from streaming_clients import Answer, Clients, FaultTest, main
from submix_process import SUBMIX, make_deployment_to_copy, make_key, run

FILES = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm")
RESTORE = "docs/operating.md, Restore"


class TakenAwayTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.original = make_deployment_to_copy(cls.work)
        make_key(cls.original, "test")

    def deploy(self, name):
        deployment = self.work / name / "tales"
        shutil.copytree(self.original, deployment)
        return deployment, make_key(deployment, name)

    def take_away(self, act, deployment, key):
        """Under load; returns the server, its clients gone, and what they saw."""
        server = self.serve(deployment)
        clients = Clients(4, lambda _: server.address, key)
        try:
            self.eventually(lambda: clients.tokens > 20, "it answers")
            act()
            self.eventually(lambda: not self.is_ready(server), "it notices")
            answer = Answer().read(server.address, key)
            self.assertEqual((answer.status, answer.tokens, answer.error["code"]), (503, 0, "unavailable"))
            self.assertNotIn(str(self.work), answer.error["message"])
        finally:
            clients.stop()
        return server, clients.tokens

    def messages(self, server):
        return [entry["message"] for entry in server.stop() if entry["event"] == "message"]

    def test_all_deleted(self):
        deployment, key = self.deploy("deleted")
        server, _ = self.take_away(lambda: [(deployment / name).unlink() for name in FILES], deployment, key)
        self.assertFalse(self.is_ready(server))
        named = [line for line in self.messages(server) if str(deployment / "ledger.sqlite") in line]
        self.assertTrue(named)
        self.assertLessEqual(len(named), 2, named)  # what the step met, and what recovering meets
        for line in named:
            self.assertIn(RESTORE, line)
        self.assertFalse((deployment / "ledger.sqlite").exists())
        for command in (["budget"], ["budget", "verify"], ["serve"], ["deploy", self.work / "ensemble"]):
            refused = subprocess.run([SUBMIX, *command, deployment, *(["--port", "0"] if command == ["serve"] else []),
                                      *(["--epsilon", "2"] if command[0] == "deploy" else [])],
                                     capture_output=True, text=True, timeout=60)
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
            self.assertIn(RESTORE, refused.stderr)
            self.assertNotIn("make one", refused.stderr)

    def test_put_back(self):
        deployment, key = self.deploy("moved")
        aside = deployment.parent / "aside"
        aside.mkdir()
        server, seen = self.take_away(lambda: [(deployment / name).rename(aside / name) for name in FILES],
                                      deployment, key)
        for name in FILES:
            (aside / name).rename(deployment / name)
        self.eventually(lambda: self.is_ready(server), "it is ready by itself")
        answer = Answer().read(server.address, key)
        self.assertTrue(answer.is_whole)
        server.stop()
        self.assert_sound(deployment, seen + answer.tokens)

    def test_an_older_copy(self):
        deployment, key = self.deploy("older")
        older = deployment.parent / "older.sqlite"
        shutil.copy(deployment / "ledger.sqlite", older)
        server, _ = self.take_away(
            lambda: [older.rename(deployment / FILES[0]), *((deployment / name).unlink() for name in FILES[1:])],
            deployment, key)
        self.assertFalse(self.is_ready(server))
        server.stop()
        refused = run("budget", "verify", deployment, expect=1)
        self.assertIn("older copy of the ledger", refused.stderr)

    def test_its_log_alone(self):
        """What the log held goes into the file while the server has it open."""
        deployment, key = self.deploy("log")
        server = self.serve(deployment)
        answer = Answer().read(server.address, key)
        (deployment / "ledger.sqlite-wal").unlink()
        refused = Answer().read(server.address, key)
        self.assertEqual((refused.tokens, refused.error["code"]), (0, "unavailable"))
        self.eventually(lambda: self.is_ready(server), "it is ready by itself")
        again = Answer().read(server.address, key)
        self.assertTrue(again.is_whole)
        server.stop()
        self.assert_sound(deployment, answer.tokens + again.tokens)

    def test_its_anchor(self):
        deployment, key = self.deploy("anchor")
        aside = deployment.parent / "anchor"
        server, seen = self.take_away(lambda: (deployment / "anchor").rename(aside), deployment, key)
        aside.rename(deployment / "anchor")
        self.eventually(lambda: self.is_ready(server), "it is ready by itself")
        named = [line for line in self.messages(server) if str(deployment / "anchor") in line]
        self.assertTrue(named)
        for line in named:
            self.assertIn(RESTORE, line)
        self.assert_sound(deployment, seen)

    def test_the_use_of_keys(self):
        """A used-up quota is not had again: noticed while the server runs, and saved when it stops."""
        deployment, _ = self.deploy("quota")
        key = make_key(deployment, "small", "--max-tokens", "100")
        server = self.serve(deployment)
        answer = Answer().read(server.address, key)
        self.assertTrue(answer.is_whole)
        for name in ("usage.sqlite", "usage.sqlite-wal", "usage.sqlite-shm"):
            (deployment / name).unlink()
        refused = Answer().read(server.address, key)
        self.assertIn(refused.status, (429, 503))
        other = make_key(deployment, "other")
        refused = Answer().read(server.address, other)
        self.assertEqual((refused.status, refused.tokens, refused.error["code"]), (503, 0, "unavailable"))
        self.assertFalse(self.is_ready(server))
        named = [line for line in self.messages(server) if str(deployment / "usage.sqlite") in line]
        self.assertTrue(named)
        uses = [json.loads(line) for line in run("key", "list", deployment, "--json").stdout.splitlines()]
        used, = (entry["tokens"] for entry in uses if entry["name"] == "small")
        self.assertGreaterEqual(used, answer.tokens)
        server = self.serve(deployment)
        again = Answer().read(server.address, key, max_tokens=101 - used)
        self.assertEqual((again.status, again.error["code"]), (429, "insufficient_quota"))
        server.stop()

    def test_weights_cut_short(self):
        """Of the ensemble that all deployments here have: the last test."""
        deployment, key = self.deploy("weights")
        server = self.serve(deployment)
        answer = Answer().read(server.address, key)
        self.assertTrue(answer.is_whole)
        for weights in (self.work / "ensemble").rglob("*.safetensors"):
            weights.write_bytes(b"")
        again = Answer().read(server.address, key)
        self.assertEqual(again.tokens, 0)
        with self.assertRaisesRegex(AssertionError, "cut short, or its disk fails"):
            server.stop(expect=0)
        self.assertEqual(server.process.returncode, 1)


if __name__ == "__main__":
    main()
