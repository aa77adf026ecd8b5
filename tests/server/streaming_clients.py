"""Clients that stream from a `submix serve` to which something happens, and what its ledger says after."""

import contextlib
import http.client
import json
import socket
import sqlite3
import sys
import threading
import time
import unittest

from submix_process import Server, WorkFolderTest, ask, connect, run


class FaultTest(WorkFolderTest):
    """In a directory of its own. What a test has left running ends with it."""

    def serve(self, deployment, *arguments, **options):
        return self.enterContext(Server(deployment, "--port", 0, *arguments, **options))

    def is_ready(self, server):
        return ask(server.address, "GET", "/readyz")[0] == 200

    def eventually(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def assert_sound(self, deployment, tokens):
        """The chain is whole, no budget exceeded, and every token that a client saw has its record."""
        budget = json.loads(run("budget", "verify", deployment, "--json").stdout)
        self.assertTrue(budget["verified"])
        for part in budget["parts"]:
            self.assertLessEqual(part["spent"], part["budget"])
        self.assertGreaterEqual(releases(deployment), tokens)


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)


class Answer:
    """What one streaming request got: tokens that were seen, the error if there was one, the end."""

    def __init__(self):
        self.status = 0  # 0: no answer at all
        self.tokens = 0
        self.error = None
        self.is_whole = False

    def read(self, address, key, on_token=lambda: None, **settings):
        """Asks and reads until the end, or until the connection breaks."""
        body = {"model": "tales", "prompt": "My lord,", "max_tokens": 60, "stream": True, **settings}
        connection, headers = connect(address, key)
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), headers)
            response = connection.getresponse()
            self.status = response.status
            if self.status != 200:
                self.error = json.loads(response.read())["error"]
                return self
            for line in response:
                if line.endswith(b"\n"):  # not one that a kill has cut
                    self._take(line.decode().strip(), on_token)
        except socket.timeout:
            raise
        except (OSError, http.client.HTTPException):
            pass  # the server is gone
        finally:
            connection.close()
        return self

    def _take(self, line, on_token):
        if line == "data: [DONE]":
            self.is_whole = True
        elif line.startswith("data: "):
            event = json.loads(line.removeprefix("data: "))
            self.error = event.get("error", self.error)
            # One event a token; one without text may be the rest of the last one.
            if any(choice["text"] for choice in event.get("choices", ())):
                self.tokens += 1
                on_token()


class Clients:
    """Streaming clients that ask again and again, of servers that may come and go, until stopped."""

    def __init__(self, count, address_of, key, **settings):
        """`address_of(i)` is the address that client i asks next."""
        self.answers = []
        self.tokens = 0
        self.failure = None
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._arguments = (address_of, key, settings)
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Lets running answers end. Raises what a client met that no client may meet."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self.failure:
            raise self.failure

    def errors(self):
        return [answer.error for answer in list(self.answers) if answer.error]

    def _ask(self, i):
        address_of, key, settings = self._arguments
        try:
            while not self._over.is_set():
                answer = Answer().read(address_of(i), key, self._count, **settings)
                self.answers.append(answer)
                if answer.status != 200:
                    time.sleep(0.02)
        except Exception as failure:  # a thread's own would be lost
            self.failure = failure

    def _count(self):
        with self._lock:
            self.tokens += 1


def releases(deployment):
    """The releases that the charges of a file's ledger record: docs/ledger_format.md."""
    database = sqlite3.connect(f"file:{deployment / 'ledger.sqlite'}?mode=ro", uri=True)
    with contextlib.closing(database):
        payloads = database.execute("SELECT payload FROM records").fetchall()
    charge = 2
    return sum(int.from_bytes(payload[2:6], "little") for (payload,) in payloads if payload[0] == charge)
