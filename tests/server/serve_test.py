#!/usr/bin/env python3
"""`submix serve` as a real process: check, configuration, keys, the operator's listener, graceful
stop, and the official openai client from npm.

    serve_test.py BUILD_DIR SOURCE_DIR

The client's part is skipped with a message where node, npm or the registry is missing.
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SUBMIX = str(BUILD / "submix")
OPERATOR_KEY = "an operator's own key"


def run(*arguments, expect=0):
    result = subprocess.run([SUBMIX, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert result.returncode == expect, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def make_deployment(work):
    """A tiny ensemble; returns the deployment's directory."""
    with open(work / "text.jsonl", "w") as corpus:
        for user in "abcdefghijkl":
            text = f"The {user} of the house went out to see the sea and the hill."
            corpus.write(json.dumps({"user": user, "text": text}) + "\n")
    run("train", work / "text.jsonl", work / "ensemble", "--public", SOURCE / "data/public_model", "--parts", 2,
        "--rank", 2, "--targets", "c_attn", "--top-layers", 1, "--block-tokens", 32, "--batch-size", 2,
        "--threads", 1, "--heldout-fraction", 0, "--partition-key", SOURCE / "data/demo_partition.key")
    run("deploy", work / "ensemble", work / "tales", "--epsilon", 2)
    return work / "tales"


class Server:
    """A running `submix serve`."""

    def __init__(self, deployment, *arguments):
        self.process = subprocess.Popen([SUBMIX, "serve", str(deployment), *map(str, arguments)],
                                        stderr=subprocess.PIPE, text=True)
        self.events = {}
        for line in self.process.stderr:
            entry = json.loads(line)
            self.events[entry["event"]] = entry
            if entry["event"] == "listening":
                break
        else:
            raise AssertionError("the server did not start")
        self.address = self.events["listening"]["address"]
        self.model = self.events["listening"]["model"]

    def stop(self, number=signal.SIGTERM):
        """Returns the rest of the log."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, log
        return [json.loads(line) for line in log.splitlines()]


def ask(address, method, path, key=None, body=None):
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.deployment = make_deployment(cls.work)
        cls.key = json.loads(run("key", "create", cls.deployment, "--name", "test", "--json").stdout)["secret"]
        (cls.work / "operator.key").write_text(OPERATOR_KEY + "\n")
        cls.config = cls.work / "serve.toml"
        cls.config.write_text(f'[server]\nport = 0\n[operator]\nkey_file = "{cls.work}/operator.key"\n')

    def refused(self, text, *words):
        path = self.work / "wrong.toml"
        path.write_text(text)
        error = run("serve", self.deployment, "--config", path, "--check", expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        for word in words:
            self.assertIn(word, error)

    def test_check_says_what_would_be_done(self):
        text = run("serve", self.deployment, "--config", self.config, "--check").stdout
        for expected in ("tales", "127.0.0.1", "1 valid", "operator", "2 nats of Renyi divergence"):
            self.assertIn(expected, text)

    def test_the_example_configuration_is_the_default(self):
        example = (SOURCE / "examples/serve.toml").read_text()
        path = self.work / "example.toml"
        path.write_text(example)
        run("serve", self.deployment, "--config", path, "--check")

    def test_wrong_configurations_name_line_and_option(self):
        self.refused("[server]\nprot = 1\n", "wrong.toml:2", "server.prot", "no such option")
        self.refused("[servers]\n", "wrong.toml:1", "servers")
        self.refused("[server]\nport = 70000\n", "wrong.toml:2", "server.port", "65535")
        self.refused('[server]\nport = "80"\n', "server.port", "integer")
        self.refused("[timeouts]\nheader = 0\n", "timeouts.header")
        self.refused("[server\n", "wrong.toml:1", "not TOML")
        self.refused('[server]\nhost = "0.0.0.0"\nrequire_api_key = false\n', "loopback")
        self.refused('[tls]\ncertificate = "x"\n', "private_key")
        key = f'key_file = "{self.work}/operator.key"\n'
        self.refused('[operator]\nhost = "0.0.0.0"\n' + key, "loopback")
        self.refused('[operator]\nkey_file = "/nonexistent"\n', "/nonexistent")

    def test_serves_and_stops_gracefully(self):
        server = Server(self.deployment, "--config", self.config)
        self.assertEqual(server.model, "tales")
        body = {"model": "tales", "prompt": "My lord,", "max_tokens": 6}
        status, text = ask(server.address, "POST", "/v1/completions", self.key, body)
        self.assertEqual(status, 200, text)
        tokens = json.loads(text)["usage"]["completion_tokens"]
        self.assertEqual(ask(server.address, "POST", "/v1/completions", None, body)[0], 401)
        # The ledger is the operator's alone.
        self.assertEqual(ask(server.address, "GET", "/ledger", OPERATOR_KEY)[0], 404)
        # Each listener has its own page, which is shown without a key.
        status, playground = ask(server.address, "GET", "/", None)
        self.assertEqual((status, "<!doctype html>" in playground.lower()), (200, True))
        operator = server.events["operator_listening"]["address"]
        self.assertEqual(ask(operator, "GET", "/ledger", self.key)[0], 401)
        status, text = ask(operator, "GET", "/ledger/verify", OPERATOR_KEY)
        ledger = json.loads(text)
        self.assertEqual((status, ledger["chain"], len(ledger["parts"])), (200, "whole", 2))
        self.assertTrue(all(0 < part["spent"] <= part["budget"] for part in ledger["parts"]), text)

        log = server.stop()
        self.assertEqual([entry["event"] for entry in log], ["request", "request", "stopping", "stopped"])
        self.assertEqual((log[0]["status"], log[0]["completion_tokens"]), (200, tokens))
        self.assertNotIn("lord", json.dumps(log))
        run("budget", self.deployment)

    def test_the_openai_client_works_unchanged(self):
        if not shutil.which("npm") or not shutil.which("node"):
            self.skipTest("no node and npm here")
        client = self.work / "openai_client"
        shutil.copytree(SOURCE / "tests/server/openai_client", client)
        installed = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=client, capture_output=True,
                                   text=True, timeout=180)
        if installed.returncode != 0:
            self.skipTest("npm could not install the client: is there a registry?\n" + installed.stderr[-500:])
        server = Server(self.deployment, "--port", 0)
        try:
            result = subprocess.run(["node", "client_test.mjs", server.address + "/v1", self.key, server.model],
                                    cwd=client, capture_output=True, text=True, timeout=180)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        finally:
            log = server.stop(signal.SIGINT)
        self.assertIn(499, [entry.get("status") for entry in log], "the client's abort was not noticed")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
