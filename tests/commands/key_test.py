#!/usr/bin/env python3
"""`submix key`, and a running server that must know at once what it changed.

    key_test.py BUILD_DIR SOURCE_DIR
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SUBMIX, Server, ask, completion, make_deployment_to_copy, make_key, run  # noqa: E402

SECRET = re.compile(r"sk-submix-[0-9a-f]{64}")
NOBODY = 65534


class KeyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.made = make_deployment_to_copy(cls.work)

    def setUp(self):
        """A copy without keys for each test."""
        self.deployment = self.work / self.id().split(".")[-1] / "tales"
        shutil.copytree(self.made, self.deployment)
        self.keys = self.deployment / "keys.json"

    def list(self):
        lines = run("key", "list", self.deployment, "--json").stdout.splitlines()
        return [json.loads(line) for line in lines]

    def refused(self, *arguments, words, code=1):
        error = run("key", *arguments, expect=code).stderr
        self.assertEqual(error.count("\n"), 1, error)
        for word in words:
            self.assertIn(str(word), error)

    def test_a_key_is_shown_once_and_stored_as_a_hash(self):
        shown = run("key", "create", self.deployment, "--name", "alice").stdout
        self.assertEqual(len(SECRET.findall(shown)), 1, shown)
        secret = SECRET.search(shown).group()
        self.assertIn("alice", shown)
        for command in (["list", self.deployment], ["list", self.deployment, "--json"]):
            text = run("key", *command).stdout
            self.assertIn("alice", text)
            self.assertNotIn(secret[-64:], text)
        with Server(self.deployment, "--port", 0) as server:
            self.assertEqual(ask(server.address, "GET", "/v1/models", secret)[0], 200)
            body = completion(server.model)
            self.assertEqual(ask(server.address, "POST", "/v1/completions", secret, body)[0], 200)
            log = server.stop()
        self.assertNotIn(secret[-64:], json.dumps(log))
        self.assertIn(self.list()[0]["id"], json.dumps(log))
        files = [file for file in self.deployment.iterdir() if file.is_file()]
        self.assertIn(self.keys, files)
        for file in files:
            self.assertNotIn(secret[-64:].encode(), file.read_bytes(), file)
            self.assertNotIn(bytes.fromhex(secret[-64:]), file.read_bytes(), file)
        self.assertEqual(self.keys.stat().st_mode & 0o777, 0o600)

    def test_the_list_shows_quotas_and_use(self):
        bounded = make_key(self.deployment, "bounded", "--max-tokens", "9", "--max-requests", "3")
        free = make_key(self.deployment, "free")
        with Server(self.deployment, "--port", 0) as server:
            body = completion(server.model, max_tokens=4)
            released = 0
            statuses = []
            for _ in range(4):
                status, text = ask(server.address, "POST", "/v1/completions", bounded, body)
                statuses.append(status)
                if status == 200:
                    released += json.loads(text)["usage"]["completion_tokens"]
                else:
                    self.assertEqual((status, json.loads(text)["error"]["code"]), (429, "insufficient_quota"))
            self.assertIn(429, statuses)
            self.assertEqual(ask(server.address, "POST", "/v1/completions", free, body)[0], 200)
            server.stop()
        self.assertLessEqual(released, 9)
        first, second = self.list()
        self.assertEqual((first["name"], first["max_tokens"], first["max_requests"]), ("bounded", 9, 3))
        self.assertEqual((first["tokens"], first["requests"]), (released, statuses.count(200)))
        self.assertNotIn("max_tokens", second)
        self.assertEqual(second["requests"], 1)
        line = run("key", "list", self.deployment).stdout.splitlines()[1]
        self.assertIn(f"{released} of 9", line)
        self.assertIn(f"{statuses.count(200)} of 3", line)

    def test_a_revoked_key_is_refused_without_a_restart(self):
        secret = make_key(self.deployment, "alice")
        with Server(self.deployment, "--port", 0) as server:
            self.assertEqual(ask(server.address, "GET", "/v1/models", secret)[0], 200)
            run("key", "revoke", self.deployment, self.list()[0]["id"])
            status, text = ask(server.address, "GET", "/v1/models", secret)
            self.assertEqual((status, json.loads(text)["error"]["code"]), (401, "invalid_api_key"))
            self.assertEqual(ask(server.address, "POST", "/v1/completions", secret, completion(server.model))[0], 401)
            # And a new one is accepted.
            self.assertEqual(ask(server.address, "GET", "/v1/models", make_key(self.deployment, "bob"))[0], 200)
            server.stop()
        self.assertIn("(revoked)", run("key", "list", self.deployment).stdout)
        self.assertIn("revoked", self.list()[0])

    def test_keys_are_rotated_while_both_are_valid(self):
        old = make_key(self.deployment, "app 1")
        with Server(self.deployment, "--port", 0) as server:
            new = make_key(self.deployment, "app 2")
            both = [ask(server.address, "GET", "/v1/models", key)[0] for key in (old, new)]
            run("key", "revoke", self.deployment, "app 1")
            after = [ask(server.address, "GET", "/v1/models", key)[0] for key in (old, new)]
            server.stop()
        self.assertEqual((both, after), ([200, 200], [401, 200]))

    def test_a_name_is_one_valid_key(self):
        make_key(self.deployment, "alice")
        first = self.list()[0]["id"]
        before = self.keys.read_bytes()
        self.refused("create", self.deployment, "--name", "alice", words=["alice", first, "revoke"])
        self.assertEqual(self.keys.read_bytes(), before)
        run("key", "revoke", self.deployment, "alice")
        make_key(self.deployment, "alice")
        second = self.list()[1]["id"]
        run("key", "revoke", self.deployment, first)  # still that one, and revoked already
        self.assertEqual(["revoked" in key for key in self.list()], [True, False])
        run("key", "revoke", self.deployment, second)

    def test_what_does_not_exist_is_named(self):
        self.refused("revoke", self.deployment, "nobody", words=["nobody", "submix key list"])
        make_key(self.deployment, "alice")
        self.refused("revoke", self.deployment, "bob", words=["bob"])
        for verb in (["create", "--name", "a"], ["list"], ["revoke", "a"]):
            place = [verb[0], self.work / "ensemble", *verb[1:]]
            self.refused(*place, words=["ensemble", "not a deployment", "submix deploy"])
            place = [verb[0], self.work / "nowhere", *verb[1:]]
            self.refused(*place, words=["nowhere", "does not exist", "--help"], code=2)

    def test_wrong_use_is_one_line(self):
        self.refused(words=["submix key", "create, list, revoke"], code=2)
        self.refused("create", self.deployment, words=["--name", "submix key create --help"], code=2)
        for quota in ("-1", "many", "1e3", ""):
            self.refused("create", self.deployment, "--name", "a", "--max-tokens", quota, words=["--max-tokens"], code=2)
        for name in ("", "two\nlines", "\x1b[31mred", "x" * 201):
            self.refused("create", self.deployment, "--name", name, words=["name"])
        self.assertFalse(self.keys.exists())

    def test_a_damaged_file_is_named_and_kept(self):
        secret = make_key(self.deployment, "alice")
        whole = self.keys.read_bytes()
        with Server(self.deployment, "--port", 0) as server:
            self.keys.write_bytes(whole[:40])
            for verb in (["create", self.deployment, "--name", "b"], ["list", self.deployment],
                         ["revoke", self.deployment, "alice"]):
                self.refused(*verb, words=["keys.json", "not a file of API keys"])
            self.assertEqual(self.keys.read_bytes(), whole[:40])
            self.assertEqual(ask(server.address, "GET", "/v1/models", secret)[0], 500)
            self.keys.write_bytes(whole)
            self.assertEqual(ask(server.address, "GET", "/v1/models", secret)[0], 200)
            server.stop()

    def as_nobody(self, *arguments):
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        return subprocess.run([*prefix, SUBMIX, "key", *map(str, arguments)], capture_output=True, text=True, timeout=60)

    def test_files_that_may_not_be_read_are_named(self):
        make_key(self.deployment, "alice")
        self.work.chmod(0o755)
        if os.getuid() == 0:
            self.deployment.chmod(0o755)
        else:
            self.keys.chmod(0)
        result = self.as_nobody("list", self.deployment)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertIn("keys.json", result.stderr)
        self.assertIn("Permission denied", result.stderr)

    def test_only_the_owner_changes_keys(self):
        """A file that root leaves in the service's folder would lock everybody out."""
        if os.getuid() != 0:
            self.skipTest("wants root")
        make_key(self.deployment, "alice")
        self.work.chmod(0o755)
        os.chown(self.deployment, NOBODY, NOBODY)
        for verb in (["create", self.deployment, "--name", "b"], ["revoke", self.deployment, "alice"]):
            self.refused(*verb, words=["belongs to nobody", "sudo -u nobody"])
        for file in self.deployment.iterdir():
            os.chown(file, NOBODY, NOBODY)
        result = self.as_nobody("create", self.deployment, "--name", "b")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.keys.stat().st_uid, self.keys.stat().st_mode & 0o777), (NOBODY, 0o600))

    def test_many_writers_lose_no_key(self):
        commands = [[SUBMIX, "key", "create", str(self.deployment), "--name", f"k{i}"] for i in range(8)]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for command in commands]
        results = [(process.communicate(timeout=60), process.returncode) for process in running]
        made = [i for i, (_, code) in enumerate(results) if code == 0]
        self.assertTrue(made)
        self.assertEqual({key["name"] for key in self.list()}, {f"k{i}" for i in made})
        for (_, error), code in results:
            if code:
                self.assertIn(b"keys.json", error)  # another process is writing: said, not lost


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
