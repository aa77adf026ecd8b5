#!/usr/bin/env python3
"""A server without API keys, on the machine of somebody who has a browser open: no page of another origin can have its tokens,
neither by a request that needs no preflight nor by a name that it lets point to this machine.

    without_keys_test.py BUILD_DIR SOURCE_DIR
"""

import sys
import unittest

from framing_cases import BODY
from raw_http import RawConnection, request
from streaming_clients import FaultTest, releases
from submix_process import Server, make_deployment

OWN_HOSTS = ("localhost", "localhost:{port}", "LocalHost:{port}", "127.0.0.1", "127.0.0.1:{port}", "[::1]", "[::1]:{port}")
FOREIGN_HOSTS = ("rebound.evil.example", "rebound.evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example",
                 "evil-localhost", "127.0.0.2", "[::2]", "2130706433", "0.0.0.0", "localhost..")
PATHS = ("/v1/models", "/", "/playground.js", "/metrics")  # not /healthz and /readyz: probes know an address only, and they say nothing
OF_A_PAGE = ("Origin: http://evil.example", "Sec-Fetch-Site: cross-site")
JSON = "application/json"


class WithoutKeysTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work, epsilon=8)

    def start(self, settings=""):
        config = self.work / "serve.toml"
        config.write_text(f"[server]\nport = 0\nrequire_api_key = false\n{settings}")
        self.server = self.enterContext(Server(self.deployment, "--config", config))
        self.port = self.server.address.rsplit(":", 1)[1]

    def status(self, data):
        with RawConnection(self.server.address) as connection:
            connection.send(data)
            return connection.read_answer().status

    def get(self, path, host):
        return self.status(request(f"GET {path} HTTP/1.1", "Host: " + host.format(port=self.port), *OF_A_PAGE))

    def post(self, host, kind, target="/v1/completions"):
        types = [f"Content-Type: {kind}"] if kind else []
        return self.status(request(f"POST {target} HTTP/1.1", "Host: " + host.format(port=self.port), *types, *OF_A_PAGE,
                                   f"Content-Length: {len(BODY)}", body=BODY))

    def test_its_own_names_are_served(self):
        self.start()
        for host in OWN_HOSTS:
            with self.subTest(host):
                self.assertEqual((self.get("/v1/models", host), self.post(host, JSON)), (200, 200))
        self.assertEqual(self.get("http://localhost/v1/models", "localhost"), 200)

    def test_other_names_are_refused(self):
        self.start()
        before = releases(self.deployment)
        for host in FOREIGN_HOSTS:
            with self.subTest(host):
                self.assertIn(self.post(host, JSON), (400, 421))
                self.assertIn(self.get("/v1/models", host), (400, 421))
        for path in PATHS:
            self.assertEqual(self.get(path, FOREIGN_HOSTS[0]), 421, path)
        # Two names that differ: what a proxy before it reads may be the other.
        self.assertIn(self.post("localhost", JSON, "http://rebound.evil.example/v1/completions"), (400, 421))
        self.assertIn(self.post(FOREIGN_HOSTS[0], JSON, "http://localhost/v1/completions"), (400, 421))
        # HTTP/1.0 needs no name, and is no browser's.
        self.assertIn(self.status(b"GET /v1/models HTTP/1.0\r\nHost: rebound.evil.example\r\n\r\n"), (400, 421))
        self.assertEqual(releases(self.deployment), before)

    def test_what_a_page_may_send_without_asking_is_refused(self):
        self.start()
        before = releases(self.deployment)
        for kind in (None, "", "text/plain", "text/plain; application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                     "TEXT/PLAIN", "text/plain, application/json", "application/jsonp"):
            with self.subTest(kind):
                self.assertIn(self.post("localhost", kind), (400, 415))
        self.assertEqual(releases(self.deployment), before)

    def test_a_preflight_is_not_granted(self):
        self.start()
        with RawConnection(self.server.address) as connection:
            connection.send(request("OPTIONS /v1/completions HTTP/1.1", *OF_A_PAGE, "Access-Control-Request-Method: POST",
                                    "Access-Control-Request-Headers: content-type"))
            answer = connection.read_answer()
        self.assertFalse([name for name, _ in answer.fields if name.startswith("access-control-")])

    def test_more_names_are_allowed_one_by_one(self):
        self.start('allowed_hosts = ["llm.example"]\n')
        for host in ("llm.example", "LLM.example:443", "localhost"):
            self.assertEqual(self.post(host, JSON), 200, host)
        for host in ("example", "x.llm.example", "llm.example.evil.example"):
            self.assertEqual(self.post(host, JSON), 421, host)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
