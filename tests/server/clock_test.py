#!/usr/bin/env python3
"""The clock of the host jumps by a day, forward and back, under `submix serve` with streams on their
way: answers go on, deadlines come when they should and no earlier, quotas count on, nothing hangs.

    clock_test.py BUILD_DIR SOURCE_DIR

The clock is libfaketime's: the time of day jumps, as a host's does; the monotonic clock does not. The
test is skipped where libfaketime is missing.
"""

import json
import os
import pathlib
import time

from streaming_clients import Answer, Clients, FaultTest, main
from submix_process import ask, completion, make_deployment, make_key

DAY = 24 * 60 * 60
JUMPS = (DAY, -DAY, 0, -400 * DAY, 400 * DAY)
# The longest that a request may take: real seconds.
DEADLINE = 2


class ClockTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work)
        cls.key = make_key(cls.deployment, "test")

    def setUp(self):
        libraries = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
        if not libraries:
            self.skipTest("libfaketime is not installed")
        self.offset = self.work / "offset"
        self.jump(0)
        self.environment = {
            **os.environ, "LD_PRELOAD": str(libraries[0]), "FAKETIME_TIMESTAMP_FILE": str(self.offset),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"
        }

    def jump(self, seconds):
        # Replaced at once: the server reads it at any moment.
        unfinished = self.offset.with_suffix(".new")
        unfinished.write_text(f"{seconds:+d}s\n")
        unfinished.rename(self.offset)

    def clock_of(self, server):
        """Seconds by which the server's clock is off."""
        status, text = ask(server.address, "POST", "/v1/completions", self.key, completion("tales"))
        self.assertEqual(status, 200, text)
        return json.loads(text)["created"] - time.time()

    def test_streams_and_quotas_go_on(self):
        server = self.serve(self.deployment, env=self.environment)
        limited = make_key(self.deployment, "limited", "--max-requests", len(JUMPS))
        self.assertAlmostEqual(self.clock_of(server), 0, delta=30)
        clients = Clients(8, lambda _: server.address, self.key)
        try:
            for seconds in JUMPS:
                self.jump(seconds)
                self.assertAlmostEqual(self.clock_of(server), seconds, delta=30)
                answers = len(clients.answers)
                self.eventually(lambda: len(clients.answers) > answers + 8, f"answers go on at {seconds:+d} s")
                self.assertEqual(self.status_for(limited, server), 200)
        finally:
            clients.stop()
        self.assertEqual(clients.errors(), [])
        self.assertTrue(all(answer.is_whole for answer in clients.answers))
        self.assertEqual(self.status_for(limited, server), 429, "no time brings a quota back")
        self.jump(-DAY)
        server.stop()
        self.assert_sound(self.deployment, clients.tokens)

    def test_deadlines_are_real(self):
        config = self.work / "serve.toml"
        # An answer of 60 tokens would take 15 s.
        config.write_text(f"[timeouts]\nrequest = {DEADLINE}\n[engine]\nquantum = 0.25\n")
        server = self.serve(self.deployment, "--config", config, env=self.environment)
        for seconds in JUMPS:
            answer, took = self.time_one_answer(server, seconds)
            while answer.is_whole:  # the model ended it
                answer, took = self.time_one_answer(server, seconds)
            self.assertGreater(answer.tokens, 0)
            self.assertEqual(answer.error["code"], "timeout", f"at {seconds:+d} s")
            self.assertGreater(took, DEADLINE - 0.1)
            self.assertLess(took, DEADLINE + 5)
        server.stop()

    def time_one_answer(self, server, seconds):
        start = time.monotonic()
        answer = Answer().read(server.address, self.key, on_token=lambda: self.jump(seconds))
        return answer, time.monotonic() - start

    def status_for(self, key, server):
        return ask(server.address, "POST", "/v1/completions", key, completion("tales"))[0]


if __name__ == "__main__":
    main()
