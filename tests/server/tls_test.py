#!/usr/bin/env python3
"""`submix serve` over TLS: pairs that do not fit are refused with one line, and clients that do not
speak it, or trust it, cost nothing.

    tls_test.py BUILD_DIR SOURCE_DIR
"""

import json
import os
import re
import socket
import ssl
import subprocess
import sys
import unittest

from submix_process import Server, WorkFolderTest, completion, install_openai_client, make_deployment, make_key, run


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def make_pair(folder, name, days=2):
    """A self-signed certificate for localhost and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", days,
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", key, "-out", certificate)
    return certificate, key


class TlsTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work)
        cls.key = make_key(cls.deployment, "test")
        cls.certificate, cls.private_key = make_pair(cls.work, "server")

    def serve(self):
        config = self.work / "serve.toml"
        config.write_text(f"[server]\nport = 0\n[timeouts]\nheader = 1.0\n[tls]\n"
                          f'certificate = "{self.certificate}"\nprivate_key = "{self.private_key}"\n')
        server = self.enterContext(Server(self.deployment, "--config", config))
        self.assertTrue(server.address.startswith("https://127.0.0.1:"), server.address)
        return server

    def curl(self, address, *options, stream=False):
        return subprocess.run(
            ["curl", "-sS", "--max-time", "60", *map(str, options), address + "/v1/completions",
             "-H", f"Authorization: Bearer {self.key}", "-H", "Content-Type: application/json",
             "-d", json.dumps(completion("tales", stream=stream))], capture_output=True, text=True, timeout=90)

    def assert_serves(self, server):
        result = self.curl(server.address, "--cacert", self.certificate)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["usage"]["prompt_tokens"], 2, result.stdout)

    def connect(self, server, context=None):
        """A socket to the server: plain, or in TLS."""
        host, port = server.address.removeprefix("https://").split(":")
        plain = socket.create_connection((host, int(port)), timeout=20)
        connection = context.wrap_socket(plain, server_hostname="localhost") if context else plain
        self.addCleanup(connection.close)
        return connection

    def test_curl_with_the_certificate_is_answered_whole_and_in_a_stream(self):
        server = self.serve()
        self.assert_serves(server)
        stream = self.curl(server.address, "--cacert", self.certificate, "--no-buffer", stream=True)
        self.assertEqual(stream.returncode, 0, stream.stderr)
        self.assertTrue(stream.stdout.endswith("data: [DONE]\n\n"), stream.stdout)
        log = server.stop()
        self.assertEqual([entry["status"] for entry in log if entry["event"] == "request"], [200, 200])

    def test_a_client_that_does_not_trust_it_gets_nothing(self):
        server = self.serve()
        other, _ = make_pair(self.work, "other")
        for options in ([], ["--cacert", other]):
            result = self.curl(server.address, *options)
            self.assertEqual(result.returncode, 60, result.stderr)
        self.assert_serves(server)
        self.assertEqual(len([entry for entry in server.stop() if entry["event"] == "request"]), 1)

    def test_old_versions_of_tls_are_refused(self):
        server = self.serve()
        for version, is_served in (("1.1", False), ("1.2", True), ("1.3", True)):
            options = ["--tls-max", version, "--tlsv" + version, "--ciphers", "DEFAULT@SECLEVEL=0"]
            result = self.curl(server.address, "--cacert", self.certificate, *options)
            self.assertEqual(result.returncode == 0, is_served, version + result.stderr)

    def test_plain_http_is_told_so(self):
        server = self.serve()
        result = self.curl(server.address.replace("https", "http"), "-i")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("HTTP/1.1 400 "), result.stdout)
        self.assertIn("https://", result.stdout)
        self.assertNotIn("choices", result.stdout)
        self.assert_serves(server)

    def test_what_is_no_handshake_ends_in_time(self):
        server = self.serve()
        for first in (b"", b"\0" * 100, b"\x16\x03\x01\xff\xff" + b"\xff" * 2000, b"\x16\x03\x01\x02\x00\x01",
                      os.urandom(300), b"SSH-2.0-OpenSSH_9.2\r\n"):
            connection = self.connect(server)
            connection.sendall(first)
            try:  # at the latest when the time for a header is over
                while connection.recv(4096):
                    pass
            except ConnectionResetError:
                pass
        self.assert_serves(server)

    def test_clients_that_leave_do_not_hurt(self):
        server = self.serve()
        context = ssl.create_default_context(cafile=str(self.certificate))
        body = json.dumps(completion("tales", max_tokens=300, stream=True)).encode()
        head = (f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        for taken in (0, 1, 2000):
            connection = self.connect(server, context)
            connection.sendall(head + body)
            if taken:
                connection.recv(taken)
            connection.close()  # while tokens come
        self.assert_serves(server)
        statuses = [entry["status"] for entry in server.stop() if entry["event"] == "request"]
        # One that leaves before its request was looked at has asked nothing.
        self.assertIn(statuses, ([499, 499, 200], [499, 499, 499, 200]))

    def test_the_end_of_an_answer_is_told_from_a_cut(self):
        """Without a close_notify a client cannot know that nothing was cut off."""
        server = self.serve()
        connection = self.connect(server, ssl.create_default_context(cafile=str(self.certificate)))
        connection.suppress_ragged_eofs = False
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while more := connection.recv(4096):  # raises where the end is ragged
            answer += more
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)

    def test_the_openai_client_works_with_the_certificate(self):
        client = install_openai_client(self.work)
        server = self.serve()
        base = server.address.replace("127.0.0.1", "localhost") + "/v1"
        for trusted, expected in ((str(self.certificate), 0), ("", 1)):
            result = subprocess.run(["node", "client_test.mjs", base, self.key, server.model], cwd=client, text=True,
                                    env={**os.environ, "NODE_EXTRA_CA_CERTS": trusted}, capture_output=True,
                                    timeout=180)
            self.assertEqual(result.returncode, expected, result.stdout + result.stderr)

    def check(self, certificate, key, expect):
        result = run("serve", self.deployment, "--port", 0, "--tls-certificate", certificate,
                     "--tls-private-key", key, "--check", expect=expect)
        return result.stdout if expect == 0 else result.stderr

    def refused(self, certificate, key, *words):
        error = self.check(certificate, key, expect=1)
        self.assertEqual(error.count("\n"), 1, error)
        for word in words:
            self.assertIn(str(word), error)
        # The server itself says the same, and does not start.
        started = run("serve", self.deployment, "--port", 0, "--tls-certificate", certificate,
                      "--tls-private-key", key, expect=1).stderr
        self.assertIn(error, started)

    def test_check_shows_how_long_the_certificate_is_valid(self):
        text = self.check(self.certificate, self.private_key, expect=0)
        self.assertRegex(text, re.escape(str(self.certificate)) + r", valid until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")
        self.assertIn("https://127.0.0.1", text)

    def test_check_says_what_is_expired(self):
        certificate, key = make_pair(self.work, "expired")
        request = self.work / "expired.csr"
        openssl("req", "-new", "-key", key, "-subj", "/CN=localhost", "-out", request)
        openssl("x509", "-req", "-in", request, "-signkey", key, "-days", -1, "-out", certificate)
        self.assertIn("EXPIRED", self.check(certificate, key, expect=0))

    def test_pairs_that_do_not_fit_are_refused(self):
        other_certificate, other_key = make_pair(self.work, "mismatch")
        self.refused(self.certificate, other_key, other_key, "not that of the certificate", self.certificate)
        rsa = self.work / "rsa.key"
        openssl("genrsa", "-out", rsa, "2048")
        self.refused(self.certificate, rsa, rsa, "not that of the certificate")
        self.refused(self.work / "none.pem", self.private_key, "none.pem", "No such file")
        self.refused(self.certificate, self.work / "none.key", "none.key", "No such file")
        self.refused(self.private_key, self.private_key, "not a certificate in PEM form")
        self.refused(self.certificate, self.certificate, "not a private key in PEM form")
        empty = self.work / "empty.pem"
        empty.write_text("")
        self.refused(empty, self.private_key, "not a certificate in PEM form")
        self.refused(self.certificate, empty, "not a private key in PEM form")
        locked = self.work / "locked.key"
        openssl("pkey", "-in", self.private_key, "-aes256", "-passout", "pass:secret", "-out", locked)
        self.refused(self.certificate, locked, locked, "under a password")

    def test_half_a_pair_is_refused(self):
        for flag, file in (("--tls-certificate", self.certificate), ("--tls-private-key", self.private_key)):
            error = run("serve", self.deployment, "--port", 0, flag, file, "--check", expect=1).stderr
            self.assertIn("tls.certificate and tls.private_key", error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
