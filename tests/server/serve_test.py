#!/usr/bin/env python3
"""`submix serve` as a real process: check, configuration, keys, the operator's listener, graceful
stop, and the official openai client from npm.

    serve_test.py BUILD_DIR SOURCE_DIR

The client's part is skipped with a message where node, npm or the registry is missing.
"""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

from submix_process import (SOURCE, SUBMIX, Server, WorkFolderTest, ask, completion, install_openai_client, make_deployment,
                            make_ensemble, make_key, run)

OPERATOR_KEY = "an operator's own key"


class ServeTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work)
        cls.key = make_key(cls.deployment, "test")
        (cls.work / "operator.key").write_text(OPERATOR_KEY + "\n")
        (cls.work / "operator.key").chmod(0o600)
        cls.config = cls.work / "serve.toml"
        cls.config.write_text(f'[server]\nport = 0\n[operator]\nport = 0\nkey_file = "{cls.work}/operator.key"\n')

    def refused(self, text, *words):
        path = self.work / "wrong.toml"
        path.write_text(text)
        error = run("serve", self.deployment, "--config", path, "--check", expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        for word in words:
            self.assertIn(word, error)

    def test_check_says_what_would_be_done(self):
        text = run("serve", self.deployment, "--config", self.config, "--check").stdout
        for expected in ("tales", "chats        plain; an answer ends at \"\\n\\nUser:\" or ", "127.0.0.1", "1 valid", "operator", "2 nats at order 8, both ways"):
            self.assertIn(expected, text)

    def test_a_public_address_without_tls_is_said_to_be_readable_on_the_way(self):
        for host in ("0.0.0.0", "::"):
            self.assertIn("TLS          off: keys, prompts and answers travel unencrypted",
                          run("serve", self.deployment, "--check", "--host", host).stdout)
        self.assertIn("TLS          off\n", run("serve", self.deployment, "--check", "--host", "127.0.0.1").stdout)

    def test_chats_need_a_format_that_the_tokenizer_has_markers_for(self):
        self.refused('[server]\nchat_format = "chatlm"\n', "wrong.toml:2", "server.chat_format", '"chatml", "qwen3", "llama3"')
        self.refused('[server]\nchat_format = "llama3"\n', '"llama3"', "<|eot_id|>")
        run("serve", self.deployment, "--check", "--chat-format", "chatlm", expect=2)
        self.assertIn("chats        mistral-v1",
                      run("serve", self.deployment, "--check", "--chat-format", "mistral-v1").stdout)

    def test_the_example_configuration_is_the_default(self):
        example = (SOURCE / "examples/serve.toml").read_text()
        path = self.work / "example.toml"
        path.write_text(example)
        self.assertEqual(run("serve", self.deployment, "--config", path, "--check").stdout,
                         run("serve", self.deployment, "--check").stdout)

    def test_wrong_configurations_name_line_and_option(self):
        self.refused("[server]\nprot = 1\n", "wrong.toml:2", "server.prot", "no such option")
        self.refused("[servers]\n", "wrong.toml:1", "servers", "no such section")
        self.refused("port = 80\n", "wrong.toml:1", "port", "outside sections")
        self.refused("[operator]\nport = 0\n", "wrong.toml:1", "operator.key_file")
        self.refused('[predictor]\nprecision = "f64"\n', "wrong.toml:2", "predictor.precision", '"bf16", "f32", "int8", "int4"')
        self.refused('[predictor]\nkv_cache = "fp8"\n', "wrong.toml:2", "predictor.kv_cache", '"auto", "int8"')
        self.refused("[server]\nport = 70000\n", "wrong.toml:2", "server.port", "65535")
        self.refused('[server]\nport = "80"\n', "server.port", "integer")
        self.refused("[timeouts]\nheader = 0\n", "timeouts.header", "from 0.1 to a day")
        self.refused("[server\n", "wrong.toml:1", "not TOML")
        self.refused("\n" + ".".join(["a"] * 100_000) + " = 1\n", "wrong.toml:2", "more than 4096 bytes")
        self.refused('[server]\nhost = "0.0.0.0"\nrequire_api_key = false\n', "loopback")
        self.refused('[tls]\ncertificate = "x"\n', "private_key")
        key = f'key_file = "{self.work}/operator.key"\n'
        self.refused('[operator]\nhost = "0.0.0.0"\n' + key, "loopback")
        self.refused('[operator]\nkey_file = "/nonexistent"\n', "/nonexistent")
        (self.work / "open.key").write_text(OPERATOR_KEY)
        (self.work / "open.key").chmod(0o644)
        self.refused(f'[operator]\nkey_file = "{self.work}/open.key"\n', "read by others", "chmod 600")

    def test_wrong_use_is_one_line_that_names_the_mend(self):
        for arguments, code, words in (
                ([], 2, ["deployment is required", "submix serve --help"]),
                (["nowhere"], 2, ["nowhere", "does not exist"]),
                ([self.work / "ensemble"], 1, ["not a deployment", "submix deploy"]),
                ([self.deployment, "--config", "none.toml"], 2, ["none.toml", "does not exist"]),
                ([self.deployment, "--config", self.work], 2, ["directory"]),
                ([self.deployment, "--port", "70000"], 2, ["--port", "0 to 65535"]),
                ([self.deployment, "--prot", "1"], 2, ["--prot", "submix serve --help"])):
            error = run("serve", *arguments, expect=code).stderr
            self.assertEqual(error.count("\n"), 1, error)
            for word in words:
                self.assertIn(word, error)
        for arguments, words in ((["budget"], "deployment is required"), (["budget", "verify"], "deployment is required"),
                                 (["key"], "create, list, revoke")):
            error = run(*arguments, expect=2).stderr
            self.assertIn(words, error)
            self.assertEqual(error.count("\n"), 1, error)

    def test_where_it_cannot_listen_it_says_why(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = other.getsockname()[1]
            error = run("serve", self.deployment, "--port", taken, expect=1).stderr
            self.assertIn(f"127.0.0.1:{taken}: another program listens there", error)
        # Of TEST-NET-1, which no machine has.
        error = run("serve", self.deployment, "--host", "192.0.2.1", expect=1).stderr
        self.assertIn("this machine has no such address", error)
        with Server(self.deployment, "--port", 0) as server:
            error = run("serve", self.deployment, "--port", 0, expect=1).stderr
            self.assertIn("another process has this ledger open", error)
            # What is checked is the address: that this server has the port now is as it should be.
            run("serve", self.deployment, "--port", server.address.rpartition(":")[2], "--check")
            server.stop()

    def test_check_refuses_an_address_that_the_start_would_refuse(self):
        self.refused('[server]\nhost = "not a host"\n', "cannot listen on not a host", "no such address")
        self.refused('[server]\nhost = "192.0.2.1"\n', "192.0.2.1", "no such address")
        self.refused(f'[server]\nunix_socket = "/{"a" * 200}"\n', "cannot listen on", "too long")
        key = f'key_file = "{self.work}/operator.key"\n'
        for host in ("127.0.0.1", "localhost", "0.0.0.0", "::"):
            self.refused(f'[server]\nport = 9090\nhost = "{host}"\n[operator]\n' + key, "one place", "operator.port")
        place = f'unix_socket = "{self.work}/socket"\n'
        self.refused("[server]\n" + place + "[operator]\n" + place + key, "one place", "operator.unix_socket")

    def test_what_is_not_proven_is_answered_by_whoever_says_research(self):
        folder = self.work / "research"
        folder.mkdir()
        deployment = folder / "tales"
        run("deploy", make_ensemble(folder), deployment, "--mechanism", "adapmixed",
            "--ball-radius", 0.1, "--research")
        self.assertIn("--research serves it", run("serve", deployment, "--port", 0, expect=1).stderr)
        run("generate", deployment, "My lord,", "--max-tokens", 4)
        with Server(deployment, "--port", 0, "--research") as server:
            self.assertEqual(server.model, "tales-research")
            status, text = ask(server.address, "POST", "/v1/completions", make_key(deployment, "test"),
                               completion(server.model))
            self.assertEqual(status, 200, text)
            server.stop()

    def test_serves_and_stops_gracefully(self):
        server = self.enterContext(Server(self.deployment, "--config", self.config))
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
        # How long steps take is not public either.
        self.assertEqual(ask(operator, "GET", "/metrics", self.key)[0], 401)
        self.assertIn("submix_step_seconds_bucket", ask(operator, "GET", "/metrics", OPERATOR_KEY)[1])
        self.assertNotIn("seconds", ask(server.address, "GET", "/metrics", None)[1])
        status, text = ask(operator, "GET", "/ledger/verify", OPERATOR_KEY)
        ledger = json.loads(text)
        self.assertEqual((status, ledger["chain"], len(ledger["parts"])), (200, "whole", 2))
        # What the page shows, docs/operating.md: the names of `submix budget --json`.
        machine = json.loads(run("budget", self.deployment, "--json").stdout)
        self.assertEqual({**ledger, "verified": False}.keys(), {**machine, "chain": "whole"}.keys())
        self.assertEqual(ledger, {**{name: machine[name] for name in machine if name != "verified"}, "chain": "whole"})
        fields = re.findall(r"^  ([a-z]+): .*;", (SOURCE / "docs/operating.md").read_text().split("interface Part")[0], re.M)
        self.assertEqual({*fields, "chain"}, ledger.keys())
        self.assertIn("(7.804, 1e-06)-differentially private for one user's text", ledger["promise"]["sentence"])
        promised = {row["label"]: row for row in ledger["promise"]["table"]}
        self.assertEqual(promised["Renyi divergence"]["part"], "2 nats at order 8, both ways")
        for row in ("unit", "neighbours", "holds for", "proof"):
            self.assertTrue(promised[row]["user"] and promised[row]["part"], promised)
        self.assertTrue(run("budget", self.deployment).stdout.endswith("\n".join(ledger["statement"]) + "\n"))
        self.assertTrue(all(0 < part["spent"] <= part["budget"] for part in ledger["parts"]), text)

        log = server.stop()
        self.assertEqual([entry["event"] for entry in log], ["request", "request", "stopping", "stopped"])
        self.assertEqual((log[0]["status"], log[0]["completion_tokens"]), (200, tokens))
        self.assertNotIn("lord", json.dumps(log))
        run("budget", self.deployment)

    def test_a_log_reader_that_stalls_or_goes_holds_up_nobody(self):
        for is_gone in (False, True):
            with self.subTest(is_gone=is_gone):
                reader, writer = os.pipe()
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
                process = subprocess.Popen([SUBMIX, "serve", self.deployment, "--port", "0"], stderr=writer)
                self.addCleanup(process.kill)
                os.close(writer)
                with open(reader) as log:
                    address = json.loads(log.readline())["address"]
                    if is_gone:
                        log.close()
                    for _ in range(50):  # of more than 100 bytes each
                        self.assertEqual(ask(address, "POST", "/v1/completions")[0], 401)
                    self.assertEqual(ask(address, "GET", "/healthz")[0], 200)
                    process.terminate()
                    self.assertEqual(process.wait(timeout=30), 0)

    def test_a_hangup_stops_it_gracefully_unless_it_is_to_survive_its_terminal(self):
        with Server(self.deployment, "--port", 0) as server:
            self.assertEqual([entry["event"] for entry in server.stop(signal.SIGHUP)], ["stopping", "stopped"])
        with Server(self.deployment, "--port", 0, launcher=("sh", "-c", "trap '' HUP; exec \"$@\"", "sh")) as server:
            server.process.send_signal(signal.SIGHUP)
            self.assertEqual(ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))[0], 200)
            server.stop()

    def test_few_open_files_mean_fewer_connections_never_a_ledger_that_cannot_open_its_own(self):
        def allowed(files):
            return ("sh", "-c", f'ulimit -n {files}; exec "$@"', "sh")
        few = subprocess.run([*allowed(64), SUBMIX, "serve", self.deployment, "--port", "0"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((few.returncode, few.stderr.count("\n")), (1, 1), few.stderr)
        for word in ("may open 64 files", "at least 272", "LimitNOFILE"):
            self.assertIn(word, few.stderr)
        with Server(self.deployment, "--port", 0, launcher=allowed(272)) as server:
            self.assertEqual(server.events["few_open_files"]["connections"], 16)
            port = int(server.address.rpartition(":")[2])
            idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(400)]
            for _ in range(4):
                status, text = ask(server.address, "POST", "/v1/completions", self.key, completion(server.model))
                self.assertEqual(status, 200, text)
            for each in idle:
                each.close()
            server.stop()

    def test_the_openai_client_works_unchanged(self):
        client = install_openai_client(self.work)
        with Server(self.deployment, "--port", 0) as server:
            result = subprocess.run(["node", "client_test.mjs", server.address + "/v1", self.key, server.model],
                                    cwd=client, capture_output=True, text=True, timeout=180)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            log = server.stop(signal.SIGINT)
        self.assertIn(499, [entry.get("status") for entry in log], "the client's abort was not noticed")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
