#!/usr/bin/env python3
"""Three `submix serve` on one budget in PostgreSQL, under load: one is killed with -9, the database
crashes and comes back. What clients have seen of all three together is never more than what the database
says was granted; no part is over its budget; the servers that live resume by themselves.

    replicas_test.py BUILD_DIR SOURCE_DIR

Skipped where there is no PostgreSQL.
"""

import json
import shutil
import signal

from postgres_process import Postgres
from streaming_clients import Answer, Clients, FaultTest, main
from submix_process import make_deployment, make_key, run

SERVERS = 3
CLIENTS = 12  # in turns of the servers
# So little that it is spent long before the end.
EPSILON = 2e-5
QUERIES = 64
DATABASE = "submix"


class ReplicasTest(FaultTest):
    def test_three_servers_on_one_budget(self):
        self.work.chmod(0o755)  # the database runs as a user of its own
        postgres = Postgres(self.work / "postgres")
        self.addCleanup(lambda: postgres.process.poll() is None and postgres.stop(signal.SIGQUIT))
        postgres.query("postgres", f"CREATE DATABASE {DATABASE}")
        location = f"postgresql://submix@127.0.0.1:{postgres.port}/{DATABASE}"
        deployment = make_deployment(self.work, "--ledger", location, "--queries", QUERIES, epsilon=EPSILON)
        key = make_key(deployment, "test")
        # Two hosts: the first two servers share a directory and so an anchor, the third has its own.
        elsewhere = self.work / "another host" / "tales"
        shutil.copytree(deployment, elsewhere)
        hosts = [deployment, deployment, elsewhere]
        servers = [self.serve(host) for host in hosts]
        clients = Clients(CLIENTS, lambda i: servers[i % SERVERS].address, key)
        try:
            self.await_answers(servers, clients, key, "all answer")

            servers[0].kill()
            servers[0] = self.serve(hosts[0])
            self.await_answers(servers, clients, key, "the killed one answers again, the others still")

            errors = len(clients.errors())
            postgres.stop(signal.SIGQUIT)
            for server in servers:
                self.eventually(lambda: not self.is_ready(server), "it notices")
                answer = Answer().read(server.address, key)
                self.assertEqual((answer.status, answer.error["code"]), (503, "unavailable"))
            self.eventually(lambda: len(clients.errors()) > errors, "clients are told")
            postgres.start()
            for server in servers:
                self.eventually(lambda: self.is_ready(server), "it resumes by itself")
            self.await_answers(servers, clients, key, "all answer after the crash")
        finally:
            clients.stop()
        for server in servers:
            server.stop()

        for error in clients.errors():
            self.assertEqual((error["type"], error["code"]), ("server_error", "unavailable"), error)
        granted = postgres.granted(DATABASE)
        print(f"{clients.tokens} tokens seen, {granted} granted", flush=True)
        self.assertLessEqual(clients.tokens, granted)
        for host in (deployment, elsewhere):
            budget = json.loads(run("budget", "verify", host, "--json").stdout)
            for part in budget["parts"]:
                self.assertLessEqual(part["spent"], part["budget"])
                self.assertGreater(part["spent"], 0.9 * part["budget"], "it was not spent")

    def await_answers(self, servers, clients, key, what):
        """Until each server has given one whole answer, and the clients have more tokens."""
        seen = clients.tokens
        for server in servers:
            self.eventually(lambda: Answer().read(server.address, key, max_tokens=5).is_whole, what)
        self.eventually(lambda: clients.tokens > seen + 50, what)


if __name__ == "__main__":
    main()
