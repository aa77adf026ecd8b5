#!/usr/bin/env python3
"""docs/operating.md as an operator follows it: every block of commands is run, every metric exists.

    operating_test.py BUILD_DIR SOURCE_DIR

What needs PostgreSQL is skipped where there is none.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import textwrap
import unittest

from postgres_process import Postgres
from submix_process import BUILD, SOURCE, Server, WorkFolderTest, ask, completion, make_ensemble, make_key, run

GUIDE = (SOURCE / "docs/operating.md").read_text()
DATABASE_HOST = "db.example"


def blocks(language):
    """The guide's blocks in this language: heading -> texts."""
    found = {}
    heading = ""
    for match in re.finditer(rf"^## ([^\n]*)$|^( *)```{language}\n(.*?)^\2```$", GUIDE, re.M | re.S):
        if match.group(1):
            heading = match.group(1)
        else:
            found.setdefault(heading, []).append(textwrap.dedent(match.group(3)))
    return found


COMMANDS, STATEMENTS = blocks("sh"), blocks("sql")


class OperatingTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work.chmod(0o755)
        cls.ensemble = make_ensemble(cls.work)

    def setUp(self):
        """A folder with my_ensemble, as the guide has it."""
        self.place = self.work / self.id().split(".")[-1]
        self.place.mkdir()
        shutil.copytree(self.ensemble, self.place / "my_ensemble")
        self.deployment = self.place / "my_deployment"
        self.environment = {}
        self.postgres = None

    def deploy(self):
        run("deploy", self.place / "my_ensemble", self.deployment, "--epsilon", 2)
        self.key = make_key(self.deployment, "editor 2025")

    def start_postgres(self):
        self.postgres = Postgres(self.place / "postgres")
        self.addCleanup(self.postgres.stop)
        self.environment = self.postgres.environment

    def follow(self, text, expect=0):
        """Runs a block of the guide."""
        if self.postgres:
            text = text.replace(DATABASE_HOST, f"127.0.0.1:{self.postgres.port}")
        result = subprocess.run(["bash", "-eu", "-c", text], cwd=self.place, capture_output=True, text=True, timeout=120,
                                env={**os.environ, **self.environment, "PATH": f"{BUILD}:{os.environ['PATH']}"})
        self.assertEqual(result.returncode, expect, f"{text}\n{result.stdout}\n{result.stderr}")
        return result

    def sql(self, text):
        return self.follow(f"psql -q -v ON_ERROR_STOP=1 -d submix <<'END'\n{text}\nEND")

    def serve_once(self, key=None):
        """One answer of a server that is started and stopped. Returns the status."""
        with Server(self.deployment, "--port", 0) as server:
            status, text = ask(server.address, "POST", "/v1/completions", key or self.key, completion(server.model))
            server.stop()
        return status

    def ledger(self):
        return json.loads(run("budget", "verify", self.deployment, "--json").stdout)

    def spent(self):
        return [part["spent"] for part in self.ledger()["parts"]]

    def test_no_block_of_the_guide_is_left_out(self):
        self.assertEqual({heading: len(texts) for heading, texts in COMMANDS.items()},
                         {"Several servers on one budget": 1, "From a file to PostgreSQL": 1, "Backup": 1, "Moving": 1, "Restore": 2,
                          "Rotation of keys": 2, "Upgrading": 1})
        self.assertEqual({heading: len(texts) for heading, texts in STATEMENTS.items()},
                         {"Several servers on one budget": 1})

    def test_a_backup_before_the_first_request_breaks_nothing(self):
        self.deploy()
        before = sorted(file.name for file in self.deployment.iterdir())
        self.follow(COMMANDS["Backup"][0])
        self.assertEqual(sorted(file.name for file in self.deployment.iterdir()), before)
        run("key", "list", self.deployment)
        self.assertEqual(self.serve_once(), 200)

    def test_it_is_moved(self):
        self.deploy()
        self.follow("mkdir elsewhere && mv my_deployment my_ensemble elsewhere/")
        self.deployment = self.place / "elsewhere/my_deployment"
        self.assertEqual(self.serve_once(), 200)
        self.follow("mv elsewhere/my_deployment .")
        self.deployment = self.place / "my_deployment"
        self.assertIn("submix relocate", run("serve", self.deployment, "--check", expect=1).stderr)
        self.follow("mv elsewhere/my_ensemble here")
        self.follow(COMMANDS["Moving"][0].replace("--ensemble my_ensemble", "--ensemble here"))
        self.assertEqual(self.serve_once(), 200)

    def test_backup_and_restore_never_go_back(self):
        self.deploy()
        with Server(self.deployment, "--port", 0) as server:
            self.assertEqual(ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))[0], 200)
            self.follow(COMMANDS["Backup"][0])
            server.stop()
        self.assertEqual(sorted(file.name for file in (self.place / "backup").iterdir()),
                         ["deployment.json", "keys.json", "ledger.sqlite", "usage.sqlite"])
        before = self.ledger()
        restored = self.follow(COMMANDS["Restore"][0])  # it is the newest: nothing was released since
        self.assertIn(f"The chain of {before['records']} records is whole", restored.stdout)
        self.assertEqual(self.ledger()["head"], before["head"])

        self.assertEqual(self.serve_once(), 200)  # now it is not
        newest = self.ledger()
        self.assertGreater(newest["records"], before["records"])
        shutil.rmtree(self.place / "aside")
        refused = self.follow(COMMANDS["Restore"][0], expect=1).stderr
        shown = next(line for line in GUIDE.splitlines() if line.startswith("submix budget: my_deployment"))
        numbers = re.compile(r"\d+")
        self.assertEqual(numbers.sub("N", refused.strip()), numbers.sub("N", shown))
        self.assertEqual(numbers.findall(refused), [str(before["records"]), str(newest["records"])])
        for options in (["--port", 0], ["--check"]):
            self.assertIn("an older copy of the ledger", run("serve", self.deployment, *options, expect=1).stderr)
        run("generate", self.deployment, "The sea", expect=1)
        for file in self.deployment.glob("ledger.sqlite*"):
            file.unlink()
        for file in (self.place / "aside").iterdir():
            file.rename(self.deployment / file.name)
        self.assertEqual(self.ledger()["head"], newest["head"])
        self.assertEqual(self.serve_once(), 200)

    def test_a_lost_anchor_is_vouched_for(self):
        self.deploy()
        self.assertEqual(self.serve_once(), 200)
        before = self.ledger()
        self.assertIn("anchor", self.follow(COMMANDS["Restore"][1], expect=1).stderr)  # there is one
        (self.deployment / "anchor").unlink()
        self.assertIn("anchor", run("budget", "verify", self.deployment, expect=1).stderr)
        self.assertIn("anchor", run("serve", self.deployment, "--port", 0, expect=1).stderr)
        self.follow(COMMANDS["Restore"][1])
        self.assertEqual(self.ledger()["head"], before["head"])

    def test_keys_are_rotated(self):
        self.deploy()
        text = self.follow(COMMANDS["Rotation of keys"][0]).stdout
        new = re.search(r"sk-submix-[0-9a-f]{64}", text).group()
        self.assertIn("of 100000", text)
        self.assertEqual((self.serve_once(self.key), self.serve_once(new)), (401, 200))
        self.follow(COMMANDS["Rotation of keys"][1])
        key = self.place / "operator.key"
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        config = self.place / "serve.toml"
        config.write_text(f'[operator]\nkey_file = "{key}"\n')
        self.assertIn("operator     http://127.0.0.1:9090", run("serve", self.deployment, "--config", config, "--check").stdout)

    def test_an_upgrade_is_tried_and_a_newer_ledger_is_refused(self):
        self.deploy()
        text = self.follow(COMMANDS["Upgrading"][0]).stdout
        self.assertIn("is whole", text)
        self.assertIn("API keys     1 valid", text)
        ledger = self.deployment / "ledger.sqlite"
        subprocess.run(["sqlite3", ledger, "PRAGMA user_version = 99"], check=True, timeout=60)
        self.assertIn("written by a newer Submix", self.follow(COMMANDS["Upgrading"][0], expect=1).stderr)

    def test_every_metric_that_is_watched_exists(self):
        self.deploy()
        key = self.place / "operator.key"
        key.write_text("an operator's own key")
        key.chmod(0o600)
        config = self.place / "serve.toml"
        config.write_text(f'[server]\nport = 0\n[operator]\nport = 0\nkey_file = "{key}"\n')
        with Server(self.deployment, "--config", config) as server:
            self.assertEqual(ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))[0], 200)
            status, metrics = ask(server.address, "GET", "/metrics")
            metrics += ask(server.events["operator_listening"]["address"], "GET", "/metrics", key.read_text())[1]
            server.stop()
        self.assertEqual(status, 200)
        self.assertNotIn("part", metrics)
        watched = re.findall(r"\b(submix_[a-z_]+)(\{[a-z]+=\"[^\"]*\"\})?", "".join(blocks("yaml")["Monitoring"]))
        watched = [(name, labels) for name, labels in watched if name not in ("submix_alerts", "submix_operator")]  # a file, a job
        self.assertGreater(len(watched), 6)
        for name, labels in watched:
            self.assertRegex(metrics, rf"(?m)^{name}(\{{.*\}})? ", name)
            if labels:
                self.assertIn(name + labels, metrics)

    def test_log_lines_have_the_fields_that_the_guide_shows(self):
        self.deploy()
        shown = [json.loads(line) for line in GUIDE.splitlines() if line.startswith('{"time"')]
        with Server(self.deployment, "--port", 0) as server:
            ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))
            log = [server.events["listening"], *server.stop()]
        self.assertEqual([[entry["event"], *entry] for entry in shown], [[entry["event"], *entry] for entry in log])

    def test_a_file_moves_to_postgresql(self):
        self.deploy()
        self.assertEqual(self.serve_once(), 200)
        before = self.ledger()
        self.start_postgres()
        self.follow("createdb submix")
        text = self.follow(COMMANDS["From a file to PostgreSQL"][0]).stdout
        self.assertIn("is whole", text)
        after = self.ledger()
        self.assertEqual((after["head"], after["parts"], after["lineage"]), (before["head"], before["parts"], before["lineage"]))
        self.assertTrue((self.deployment / "ledger.sqlite.moved").exists())
        self.assertFalse((self.deployment / "ledger.sqlite").exists())
        self.assertEqual(self.serve_once(), 200)
        self.assertGreater(self.ledger()["records"], before["records"])

    def test_servers_and_auditors_need_few_rights(self):
        self.start_postgres()
        self.follow(COMMANDS["Several servers on one budget"][0])
        self.key = make_key(self.deployment, "test")
        self.sql("CREATE ROLE server LOGIN; CREATE ROLE auditor LOGIN;")
        self.sql(STATEMENTS["Several servers on one budget"][0])
        config = self.deployment / "deployment.json"
        made = config.read_text()
        config.write_text(made.replace("submix@", "server@"))
        self.assertEqual(self.serve_once(), 200)
        config.write_text(made.replace("submix@", "auditor@"))
        spent = self.spent()
        self.assertTrue(all(amount > 0 for amount in spent), spent)
        with Server(self.deployment, "--port", 0) as server:  # may look, may not charge: no token
            status, text = ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))
            self.assertEqual(status, 503, text)
            server.stop()
        self.assertEqual(self.spent(), spent)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
