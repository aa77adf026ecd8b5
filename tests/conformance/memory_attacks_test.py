#!/usr/bin/env python3
"""Attacks on the server's memory: it may grow by 512 MiB at most, and what it took it gives back.

    memory_attacks_test.py BUILD_DIR SOURCE_DIR
"""

import sys
import time
import unittest

from crowd import Crowd, Memory, raise_file_limit
from raw_http import json_post, request
from streaming_clients import FaultTest
from submix_process import Server, ask, completion, make_deployment, make_key

MOST = 512  # MiB above idle
KEPT = 64   # MiB above idle, when all is over: a malloc's own fragments


class MemoryAttacksTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        raise_file_limit()
        cls.deployment = make_deployment(cls.work, epsilon=8)
        cls.key = make_key(cls.deployment, "test")

    def setUp(self):
        config = self.work / "serve.toml"
        config.write_text("[server]\nport = 0\n[timeouts]\nheader = 8.0\nbody = 5.0\nwrite = 3.0\nidle = 2.0\n")
        self.server = self.enterContext(Server(self.deployment, "--config", config))
        self.assert_serves()  # what the first answer allocates is not the attackers'
        self.memory = Memory(self.server.process.pid)
        self.files = self.memory.files()

    def assert_serves(self):
        self.assertEqual(ask(self.server.address, "POST", "/v1/completions", self.key, completion(self.server.model))[0], 200)

    def attack(self, count, data, reads=False):
        """`count` connections that send `data`, until the server has ended them all."""
        with Crowd(self.server.address, count, data, reads=reads) as crowd:
            self.eventually(lambda: crowd.sent() + crowd.closed() >= count or self.grew_too_far(), "the attackers send")
            self.assertTrue(self.is_ready(self.server))
            self.eventually(lambda: self.memory.files() <= self.files or self.grew_too_far(), "the server ends them")
            peak = self.memory.peak_above_idle()
            self.assertLess(peak, MOST)
        end = time.monotonic() + 10
        while self.memory.above_idle() >= KEPT and time.monotonic() < end:
            time.sleep(0.1)
        print(f"at most {peak:.0f} MiB above idle, then {self.memory.above_idle():.0f}; ", end="", flush=True)
        self.assertLess(self.memory.above_idle(), KEPT)
        self.assert_serves()
        self.server.stop()

    def grew_too_far(self):
        return self.memory.peak_above_idle() > MOST

    def with_key(self, body):
        return json_post(body, f"Authorization: Bearer {self.key}")

    def test_heads_of_two_megabytes(self):
        self.attack(110, request("GET /healthz HTTP/1.1", *["a:b"] * 420_000), reads=True)

    def test_heads_of_60_kilobytes_that_never_end(self):
        self.attack(1000, request("GET /healthz HTTP/1.1", *[f"x: {'y' * 995}"] * 60)[:-2])

    def test_ranges_that_multiply_a_file(self):
        self.attack(120, request("GET /playground.js HTTP/1.1", f"Range: bytes={'0-,' * 2600}0-"))

    def test_answers_that_nobody_reads(self):
        self.attack(200, request("GET /playground.js HTTP/1.1") * 1000)

    def test_prompts_of_a_megabyte(self):
        words, word = (b'{"model":"tales","max_tokens":1,"prompt":"' + text + b'"}' for text in (b"ab " * 340_000, b"a" * 1_000_000))
        self.attack(20, self.with_key(words) + self.with_key(word), reads=True)

    def test_bodies_a_byte_short(self):
        """Of a client with a key: without one no body is read."""
        self.attack(800, self.with_key(b'{"prompt":"' + b"a" * 1_000_000 + b'"}')[:-1], reads=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
