#!/usr/bin/env python3
"""A ledger that lets a charge wait: another process holds the lock on its file. Requests end by their
deadline all the same, readiness and new requests say so, and the process ends when it is told to.

    held_up_ledger_test.py BUILD_DIR SOURCE_DIR
"""

import contextlib
import json
import sqlite3
import threading

from streaming_clients import Answer, FaultTest, main
from submix_process import ask, completion, make_deployment, make_key, run

CONFIG = """
[timeouts]
request = 1.0
step = 0.5
stop = 0.0
"""


class HeldUpLedgerTest(FaultTest):
    def setUp(self):
        self.deployment = make_deployment(self.work)
        self.key = make_key(self.deployment, "test")
        (self.work / "serve.toml").write_text(CONFIG)
        self.server = self.serve(self.deployment, "--config", self.work / "serve.toml")
        self.assertEqual(self.ask()[0], 200)

    def ask(self):
        body = completion(self.server.model)
        status, text = ask(self.server.address, "POST", "/v1/completions", self.key, body)
        return status, json.loads(text)

    def lives(self, count):
        return f"\nsubmix_live {count}\n" in ask(self.server.address, "GET", "/metrics")[1]

    @contextlib.contextmanager
    def held_up(self):
        # A charge waits 5 seconds for it, then its step fails.
        with contextlib.closing(sqlite3.connect(self.deployment / "ledger.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    def test_deadlines_readiness_and_the_end(self):
        with self.held_up():
            status, answer = self.ask()
            self.assertEqual((status, answer["error"]["code"]), (504, "timeout"))
            self.assertFalse(self.is_ready(self.server))
            self.assertEqual(self.ask()[0], 503)
        self.eventually(lambda: self.is_ready(self.server), "it is well again")
        self.assertEqual(self.ask()[0], 200)
        self.eventually(lambda: self.lives(0), "the answered request has ended")

        answer = Answer()
        with self.held_up():
            asking = threading.Thread(target=answer.read, args=(self.server.address, self.key))
            asking.start()
            self.eventually(lambda: self.lives(1), "it is live")
            log = self.server.stop(expect=1)
            asking.join()
        self.assertIn("a step did not end", log[-1]["message"])
        self.assertEqual(answer.tokens, 0)
        run("budget", "verify", self.deployment)


if __name__ == "__main__":
    main()
