#!/usr/bin/env python3
"""Clients that are slow, idle, or too many, beside one that has a key and only wants its answer.

    slow_clients_test.py BUILD_DIR SOURCE_DIR
"""

import resource
import sys
import time
import unittest

from crowd import Crowd, Memory, raise_file_limit
from raw_http import json_post, request
from streaming_clients import FaultTest, releases
from submix_process import Server, ask, completion, make_deployment, make_key

ORDINARY_FILE_LIMIT = 1024  # of login shells and systemd


class SlowClientsTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        raise_file_limit()
        cls.deployment = make_deployment(cls.work, epsilon=8)
        cls.key = make_key(cls.deployment, "test")

    def start(self, settings="", **options):
        config = self.work / "serve.toml"
        config.write_text(settings if "[server]" in settings else "[server]\nport = 0\n" + settings)
        server = self.enterContext(Server(self.deployment, "--config", config, **options))
        self.assert_serves(server)
        return server

    def assert_serves(self, server, times=1):
        """`times` new connections with the key get their answers, and one without gets that of /readyz, each within two seconds."""
        for _ in range(times):
            for method, path, key, body in (("POST", "/v1/completions", self.key, completion(server.model)), ("GET", "/readyz", None, None)):
                start = time.monotonic()
                status, text = ask(server.address, method, path, key, body)
                self.assertEqual(status, 200, f"{path}: {text}")
                self.assertLess(time.monotonic() - start, 2, path)

    def test_2000_idle_connections(self):
        def ordinary_file_limit():
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (ORDINARY_FILE_LIMIT, hard))

        server = self.start("[timeouts]\nheader = 6.0\nidle = 6.0\n", preexec_fn=ordinary_file_limit)
        memory = Memory(server.process.pid)
        files = memory.files()
        with Crowd(server.address, 1000) as silent, Crowd(server.address, 1000, request("GET /healthz HTTP/1.1"), reads=True) as asked:
            self.eventually(lambda: all(b'{"status":"ok"}' in member.received for member in asked.members), "all are answered")
            self.assertEqual(silent.closed() + asked.closed(), 0)
            self.assert_serves(server, times=5)
            self.assertLess(memory.peak_above_idle(), 64)  # 32 KB each
            self.eventually(lambda: silent.closed() + asked.closed() == 2000, "idle ones are closed")
            self.assertGreater(min(member.closed_at for member in silent.members) - silent.started, 5.5)
            self.assertLess(silent.last_closed(), 12)
        self.eventually(lambda: memory.files() <= files + 2, "files are closed")
        self.assert_serves(server)
        server.stop()

    def test_it_stops_at_once_with_idle_connections(self):
        server = self.start("[timeouts]\nheader = 60.0\nidle = 60.0\n")
        with Crowd(server.address, 500), Crowd(server.address, 500, request("GET /healthz HTTP/1.1"), reads=True) as asked:
            self.eventually(lambda: all(b'{"status":"ok"}' in member.received for member in asked.members), "all are answered")
            start = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - start, 3)

    def test_slow_heads(self):
        """A byte now and then gives no more time than the whole header has."""
        server = self.start("[timeouts]\nheader = 2.0\n")
        drip = request("GET /healthz HTTP/1.1", "X: " + "y" * 2000)
        with Crowd(server.address, 200, drip, piece=1, interval=0.1, reads=True) as crowd:
            self.assert_serves(server, times=3)
            self.eventually(lambda: crowd.closed() == 200, "slow heads are ended")
            self.assertLess(crowd.last_closed(), 5)
            for member in crowd.members:
                self.assertRegex(member.received, rb"\AHTTP/1\.1 408 |\A\Z")
        server.stop()

    def test_slow_bodies(self):
        server = self.start("[timeouts]\nbody = 2.0\n")
        before = releases(self.deployment)
        drip = json_post(b" " * 2000, f"Authorization: Bearer {self.key}")
        # All of the header at once, then the body byte by byte.
        head = drip.index(b"\r\n\r\n") + 4
        with Crowd(server.address, 100, drip, piece=head, interval=0.4, reads=True) as crowd:
            for member in crowd.members:
                self.eventually(lambda member=member: len(member.unsent) < len(drip), "heads are sent")
            crowd.piece = 1
            self.eventually(lambda: crowd.closed() == 100, "slow bodies are ended")
            self.assertLess(crowd.last_closed(), 6)
            for member in crowd.members:
                self.assertRegex(member.received, rb"\AHTTP/1\.1 408 ")
        self.assertEqual(releases(self.deployment), before)
        self.assert_serves(server)
        server.stop()

    def test_a_body_without_a_key_is_not_waited_for(self):
        server = self.start("[timeouts]\nbody = 30.0\n")
        data = request("POST /v1/completions HTTP/1.1", "Content-Type: application/json", "Content-Length: 1000", body=b"{")
        with Crowd(server.address, 50, data, reads=True) as crowd:
            self.eventually(lambda: crowd.closed() == 50, "they are refused")
            self.assertLess(crowd.last_closed(), 4)
            for member in crowd.members:
                self.assertRegex(member.received, rb"\AHTTP/1\.1 401 ")
        server.stop()

    def test_streams_that_nobody_reads(self):
        """They end by themselves, and hold up nobody."""
        server = self.start("[timeouts]\nwrite = 2.0\n")
        memory = Memory(server.process.pid)
        body = b'{"model":"tales","prompt":"a","max_tokens":100,"n":4,"stream":true}'
        with Crowd(server.address, 8, json_post(body, f"Authorization: Bearer {self.key}")) as crowd:
            self.eventually(lambda: crowd.sent() == 8, "they ask")
            self.assert_serves_beside_streams(server)
            self.eventually(lambda: self.running(server) == 0, "they end")
            self.assertLess(memory.peak_above_idle(), 256)
        self.assert_serves(server)
        server.stop()

    def assert_serves_beside_streams(self, server):
        start = time.monotonic()
        self.assertEqual(ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))[0], 200)
        self.assertLess(time.monotonic() - start, 10)
        self.assertTrue(self.is_ready(server))

    def running(self, server):
        lines = ask(server.address, "GET", "/metrics")[1].splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("submix_live ", "submix_waiting ")))

    def test_a_flood_without_keys_shuts_nobody_out(self):
        """140 connections at 35 requests a second, where there is room for 128: of clients that wait, that ask, and that come back."""
        server = self.start("[server]\nport = 0\nconnections = 128\n")
        asking = request("GET /healthz HTTP/1.1")
        with Crowd(server.address, 140, asking, interval=4.0, reads=True, returns=True):
            time.sleep(1)
            self.assert_serves(server, times=10)
        with Crowd(server.address, 500, b"GET /healthz HTTP/1.1\r\n", reads=True, returns=True):
            time.sleep(1)
            self.assert_serves(server, times=10)
        self.assert_serves(server)
        server.stop()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
