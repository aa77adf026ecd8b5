#!/usr/bin/env python3
"""The database of a `submix serve` stands still, as with storage that hangs: its kernel takes connections
and bytes, and nobody answers. The server notices, says so in time, answers again by itself when the
database does, and stops when it is told to, database or not.

    frozen_database_test.py BUILD_DIR SOURCE_DIR

Skipped where there is no PostgreSQL.
"""

import json
import signal
import time

from postgres_process import Postgres
from streaming_clients import Answer, Clients, FaultTest, main
from submix_process import make_deployment, make_key, run

DATABASE = "submix"
PATIENCE = 2  # seconds: connect_timeout
# What a busy machine may take for anything that is to happen "in time".
IN_TIME = 20


class FrozenDatabaseTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work.chmod(0o755)  # the database runs as a user of its own
        cls.postgres = Postgres(cls.work / "postgres")
        cls.addClassCleanup(cls.postgres.stop, signal.SIGQUIT)
        cls.addClassCleanup(cls.postgres.thaw)
        cls.postgres.query("postgres", f"CREATE DATABASE {DATABASE}")
        location = f"postgresql://submix@127.0.0.1:{cls.postgres.port}/{DATABASE}?connect_timeout={PATIENCE}"
        cls.deployment = make_deployment(cls.work, "--ledger", location)
        cls.key = make_key(cls.deployment, "test")

    def tearDown(self):
        self.postgres.thaw()

    def answer_in_time(self, server):
        begin = time.monotonic()
        answer = Answer().read(server.address, self.key)
        self.assertLess(time.monotonic() - begin, IN_TIME)
        return answer

    def test_it_is_noticed_and_survived(self):
        server = self.serve(self.deployment)
        clients = Clients(4, lambda _: server.address, self.key)
        try:
            for _ in range(2):
                seen = clients.tokens
                self.eventually(lambda: clients.tokens > seen + 20, "it answers")
                self.postgres.freeze()
                self.eventually(lambda: not self.is_ready(server), "it notices", IN_TIME)
                for _ in range(3):
                    answer = self.answer_in_time(server)
                    self.assertIn(answer.status, (503, 504))
                    self.assertFalse(self.is_ready(server))
                seen = clients.tokens
                self.postgres.thaw()
                self.eventually(lambda: self.is_ready(server), "it is ready by itself")
                self.eventually(lambda: clients.tokens > seen, "it resumes by itself")
        finally:
            self.postgres.thaw()
            clients.stop()
        log = [entry.get("message", "") for entry in server.stop()]
        self.assertTrue(any("no answer within" in line or "timeout" in line for line in log), log)
        for error in clients.errors():
            self.assertEqual((error["type"], error["code"]), ("server_error", "unavailable"), error)
        self.assertLessEqual(clients.tokens, self.postgres.granted(DATABASE))
        self.assertTrue(json.loads(run("budget", "verify", self.deployment, "--json").stdout)["verified"])

    def test_the_server_stops_all_the_same(self):
        for is_asked in (False, True):  # when told to: idle, or while a charge hangs
            with self.subTest(is_asked):
                server = self.serve(self.deployment)
                self.assertTrue(self.answer_in_time(server).is_whole)
                clients = Clients(2 if is_asked else 0, lambda _: server.address, self.key)
                self.postgres.freeze()
                time.sleep(0.5)
                begin = time.monotonic()
                server.process.send_signal(signal.SIGTERM)
                server.process.wait(timeout=IN_TIME)
                print(f"stopped after {time.monotonic() - begin:.1f} s", flush=True)
                self.assertEqual(server.process.returncode, 0)
                clients.stop()
                self.postgres.thaw()
                run("budget", "verify", self.deployment)

    def test_commands_say_so(self):
        self.postgres.freeze()
        begin = time.monotonic()
        refused = run("budget", self.deployment, expect=1)
        self.assertLess(time.monotonic() - begin, IN_TIME)
        self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
        self.assertIn("try again later", refused.stderr)


if __name__ == "__main__":
    main()
