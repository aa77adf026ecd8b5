#!/usr/bin/env python3
"""The files of a deployment are made read-only, before `submix serve` starts and under it. It does not
start, and says why; running, it releases nothing without a record, says so, and resumes by itself.

    read_only_test.py BUILD_DIR SOURCE_DIR

Root may write everything: as root the server runs as nobody.
"""

import os
import subprocess

from streaming_clients import Answer, Clients, FaultTest, main
from submix_process import SUBMIX, make_deployment, make_key

NOBODY = 65534


class ReadOnlyTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work)
        cls.key = make_key(cls.deployment, "test")
        # Packed weights are kept here; the home of nobody does not exist.
        cls.cache = cls.work / "cache"
        cls.cache.mkdir()
        cls.user = {"env": {**os.environ, "XDG_CACHE_HOME": str(cls.cache)}}
        if os.getuid() == 0:
            cls.user.update(user=NOBODY, group=NOBODY, extra_groups=[])
            for path in (cls.work, *cls.work.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def setUp(self):
        readable = subprocess.run([SUBMIX, "--help"], capture_output=True, **self.user)
        if readable.returncode != 0:
            self.skipTest("nobody may not run the programs here")

    def make_writable(self, is_writable, *names):
        """These files of the deployment, or all with its directory."""
        paths = [self.deployment / name for name in names] or [self.deployment, *self.deployment.iterdir()]
        for path in paths:
            mode = path.stat().st_mode
            path.chmod(mode | 0o200 if is_writable else mode & ~0o222)

    def test_it_does_not_start(self):
        self.serve(self.deployment, **self.user).stop()  # all files are there now
        for names in (["ledger.sqlite"], ["anchor"], ["usage.sqlite"], []):
            with self.subTest(names):
                self.make_writable(False, *names)
                try:
                    refused = subprocess.run([SUBMIX, "serve", self.deployment, "--port", "0"], capture_output=True,
                                             text=True, timeout=60, **self.user)
                finally:
                    self.make_writable(True)
                self.assertEqual(refused.returncode, 1, refused.stderr)
                self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
                self.assertIn(str(self.deployment.joinpath(*names)), refused.stderr)
                self.assertIn("writ", refused.stderr)
        self.serve(self.deployment, **self.user).stop()

    def test_under_load(self):
        server = self.serve(self.deployment, **self.user)
        clients = Clients(8, lambda _: server.address, self.key)
        try:
            seen = clients.tokens
            self.eventually(lambda: clients.tokens > seen + 20, "it answers")
            # The anchor is opened anew for each step; a file that SQLite has open stays writable.
            self.make_writable(False)
            self.eventually(lambda: not self.is_ready(server), "it notices")
            answer = Answer().read(server.address, self.key)
            self.assertEqual((answer.status, answer.tokens, answer.error["code"]), (503, 0, "unavailable"))
            seen = clients.tokens
            self.make_writable(True)
            self.eventually(lambda: self.is_ready(server), "it is ready by itself")
            self.eventually(lambda: clients.tokens > seen, "it resumes by itself")
        finally:
            clients.stop()
        for error in clients.errors():
            self.assertEqual((error["type"], error["code"]), ("server_error", "unavailable"), error)
            self.assertNotIn(str(self.work), error["message"])
        server.stop()
        self.assert_sound(self.deployment, clients.tokens)


if __name__ == "__main__":
    main()
