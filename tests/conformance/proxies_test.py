#!/usr/bin/env python3
"""Behind nginx and Caddy, as docs/serving.md sets them up, no request of one client touches those of others: two attackers without
a key hide requests in requests, and every answer to the others is their own.

    proxies_test.py BUILD_DIR SOURCE_DIR [--requests N]     N requests of the others; 10,000 before a release

A proxy that is not installed is skipped.
"""

import http.client
import json
import socket
import sys
import threading
import unittest

from framing_cases import LAST, chunk
from raw_http import request
from proxies import FOLDER, Caddy, Nginx
from streaming_clients import FaultTest
from submix_process import SOURCE, Server, ask, completion, connect, make_deployment, make_key

REQUESTS = int(sys.argv[sys.argv.index("--requests") + 1]) if "--requests" in sys.argv else 1500
VICTIMS = 6
ATTACKERS = 2
PATIENCE = 10  # seconds of a victim
ENOUGH = 20    # harmed ones, to end the test
OF_METRICS = b"submix_tokens_total"

# Many: their answers still come when the proxy gives the connection to somebody else.
SMUGGLED = request("GET /metrics HTTP/1.1") * 2 + request("GET /healthz HTTP/1.1") * 20


def hidden(first_line, *lines, body=SMUGGLED):
    return request(first_line, *lines, f"Content-Length: {len(body)}", body=body)


ATTACKS = [
    hidden("FOO /healthz HTTP/1.1"),
    hidden("get /healthz HTTP/1.1"),
    hidden("GET /healthz HTTP/2.0"),
    b"\r\n\r\n" + hidden("GET /healthz HTTP/1.1"),
    hidden("GET /healthz HTTP/1.1", "X:" + "y" * 8180),
    hidden("GET /healthz HTTP/1.1", "X: " + "y" * 9000),
    hidden("GET /healthz HTTP/1.1", "X: " + "y" * 70_000),
    hidden("GET /healthz HTTP/1.1", *["X: y"] * 500),
    hidden("GET /" + "a" * 8170 + " HTTP/1.1"),
    hidden("GET /" + "a" * 9000 + " HTTP/1.1"),
    hidden("GET /healthz%00 HTTP/1.1"),
    hidden("GET /healthz HTTP/1.1", "X"),
    hidden("GET /healthz HTTP/1.1"),
    hidden("PUT /v1/completions HTTP/1.1"),
    hidden("DELETE /healthz HTTP/1.1", "Expect: 100-continue"),
    hidden("POST /v1/completions HTTP/1.1", "Content-Type: application/json"),
    hidden("POST /v1/completions HTTP/1.1", "Expect: a-miracle"),
    hidden("GET /playground.js HTTP/1.1", "Range: bytes=0-1,2-3"),
    hidden("GET /healthz HTTP/1.1", "Content-Length: 0"),
    hidden("GET /healthz HTTP/1.1", "Connection: close, Content-Length"),
    hidden("GET /healthz HTTP/1.1", "Transfer-Encoding : chunked"),
    hidden("GET /healthz HTTP/1.1", "Transfer_Encoding: chunked", body=LAST + SMUGGLED),
    hidden("GET /healthz HTTP/1.1", "Transfer-Encoding: chunked", body=LAST + SMUGGLED),
    *(request("FOO /healthz HTTP/1.1", f"Transfer-Encoding: {coding}", body=chunk(SMUGGLED) + LAST)
      for coding in ("chunked", "Chunked", "chunked\r\nTransfer-Encoding: identity", "\vchunked", "gzip, chunked")),
    *(request("POST /v1/completions HTTP/1.1", "Transfer-Encoding: chunked", body=coded) for coded in (
        chunk(SMUGGLED) + LAST, chunk(SMUGGLED, extension=b";a\nb") + LAST, chunk(SMUGGLED, b"0x%x" % len(SMUGGLED)) + LAST,
        b"1\r\na" + SMUGGLED, b"5\nabcde\n" + SMUGGLED, b"0\r\nX: y\r\n\r\n" + SMUGGLED, b"0\n\n" + SMUGGLED)),
    *(request("GET /healthz HTTP/1.1", f"Content-Length: {length}", body=SMUGGLED)
      for length in (f"{len(SMUGGLED)}abc", f"+{len(SMUGGLED)}", f"0, {len(SMUGGLED)}", "0x10", "1e1")),
]


class Attackers:
    """Go through ATTACKS until stopped; keep what came back if it is what nobody may see."""

    def __init__(self, address):
        host, port = address.removeprefix("http://").split(":")
        self._place = host, int(port)
        self._over = threading.Event()
        self.tries = 0
        self.leaks = []
        self._threads = [threading.Thread(target=self._attack, args=(i,)) for i in range(ATTACKERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _attack(self, number):
        while not self._over.is_set():
            # In turns with the form that harmed most where a server read on behind an error.
            data = ATTACKS[number // 2 % len(ATTACKS)] if number % 2 else ATTACKS[0]
            number += ATTACKERS + 1
            got = self._exchange(data)
            self.tries += 1
            if OF_METRICS in got:
                self.leaks.append((data[:60], got[:400]))

    def _exchange(self, data):
        """Whatever comes until the first pause; leaving earlier would make the proxy give up the server's connection."""
        with socket.create_connection(self._place, timeout=0.5) as connection:
            got = b""
            try:
                connection.sendall(data)
                while more := connection.recv(1 << 16):
                    got += more
                    connection.settimeout(0.002)
            except OSError:
                pass  # refused, or silent
            return got


class Victims:
    """`count` requests over kept connections. Each can tell its own answer from all others."""

    def __init__(self, address, key, model, count):
        self._address, self._key, self._model = address, key, model
        self._numbers = iter(range(count))
        self._lock = threading.Lock()
        self.harmed = []
        self.served = 0
        threads = [threading.Thread(target=self._ask_all) for _ in range(VICTIMS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask_all(self):
        connection, headers = connect(self._address, self._key)
        connection.timeout = PATIENCE
        while True:
            with self._lock:
                number = next(self._numbers, None) if len(self.harmed) < ENOUGH else None
            if number is None:
                return connection.close()
            what = "?"
            try:
                what = self._ask(connection, headers, number)
            except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
                what = repr(error)
                connection.close()
            with self._lock:
                self.served += what is None
                if what is not None:
                    self.harmed.append((number, what))

    def _ask(self, connection, headers, number):
        """None, or what is wrong with the answer."""
        if number % 5 == 0:
            return self._exchange(connection, "GET", "/v1/models", None, headers, 200, lambda value: value["data"][0]["id"] == self._model)
        if number % 50 == 1:  # a completion whose length is its own
            prompt = [1] * (1 + number % 37)
            return self._exchange(connection, "POST", "/v1/completions", {"model": self._model, "prompt": prompt, "max_tokens": 1}, headers, 200,
                                  lambda value: value["usage"]["prompt_tokens"] == len(prompt))
        field = f"field_{number}"
        return self._exchange(connection, "POST", "/v1/completions", completion(self._model, **{field: 1}), headers, 400,
                              lambda value: value["error"]["param"] == field)

    def _exchange(self, connection, method, path, body, headers, status, is_own):
        connection.request(method, path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        text = response.read().decode()
        return None if response.status == status and is_own(json.loads(text)) else f"{response.status} {text[:200]}"


class ProxiesTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work.chmod(0o755)  # nginx's workers are not root
        cls.deployment = make_deployment(cls.work, epsilon=8)
        cls.key = make_key(cls.deployment, "test")
        cls.server = cls.enterClassContext(Server(cls.deployment, "--port", 0))

    def start(self, proxy):
        return self.enterContext(proxy(self.work / self._testMethodName, self.server.address))

    def test_the_documents_show_what_is_tested(self):
        text = (SOURCE / "docs/serving.md").read_text()
        for language, name in (("nginx", "nginx.conf"), ("caddyfile", "Caddyfile")):
            self.assertIn(f"```{language}\n{(FOLDER / name).read_text()}```\n", text)

    def test_nobody_is_harmed_behind_nginx(self):
        self.attack(self.start(Nginx))

    def test_nobody_is_harmed_behind_caddy(self):
        self.attack(self.start(Caddy))

    def attack(self, proxy):
        with Attackers(proxy.address) as attackers:
            victims = Victims(proxy.address, self.key, self.server.model, REQUESTS)
        self.assertGreater(attackers.tries, 2 * len(ATTACKS))
        print(f"{attackers.tries} attacks beside {REQUESTS} requests; ", end="", flush=True)
        self.assertEqual((len(victims.harmed), victims.harmed[:5]), (0, []))
        self.assertEqual(victims.served, REQUESTS)
        self.assertEqual((len(attackers.leaks), attackers.leaks[:3]), (0, []))

    def test_streams_flow_through_nginx(self):
        self.stream(self.start(Nginx))

    def test_streams_flow_through_caddy(self):
        self.stream(self.start(Caddy))

    def stream(self, proxy):
        """Events come one by one, hanging up ends the completion, and /metrics stays inside, however it is written."""
        connection, headers = connect(proxy.address, self.key)
        connection.request("POST", "/v1/completions", json.dumps(completion(self.server.model, max_tokens=400, stream=True)), headers)
        response = connection.getresponse()
        self.assertEqual((response.status, response.getheader("Content-Type")), (200, "text/event-stream"))
        self.assertTrue(response.readline().startswith(b"data: "))
        self.assertEqual(self.live(), 1)  # it is not at its end
        response.close()
        connection.close()
        self.eventually(lambda: self.live() == 0, "hanging up ends it", seconds=5)
        for target in ("/metrics", "/metrics?a", "//metrics", "/./metrics", "/a/../metrics", "/%6detrics", "/metrics%3f", "/Metrics", "/metrics/"):
            status, text = ask(proxy.address, "GET", target)
            self.assertIn(status, (308, 400, 404), target)
            self.assertNotIn(OF_METRICS.decode(), text)

    def live(self):
        lines = ask(self.server.address, "GET", "/metrics")[1].splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("submix_live "))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
