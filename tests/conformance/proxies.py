"""nginx and Caddy as docs/serving.md sets them up, in front of a running server, on a free port and without TLS."""

import os
import shutil
import socket
import subprocess
import time
import unittest

from submix_process import SOURCE

FOLDER = SOURCE / "docs/proxies"
DOCUMENTED_SERVER = "127.0.0.1:8080"


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def edited(name, server_address, *changes):
    """The documented file with `changes`, each of which must fit."""
    text = (FOLDER / name).read_text()
    for old, new in ((DOCUMENTED_SERVER, server_address.removeprefix("http://")), *changes):
        assert old in text, f"{name} has no {old!r} any more"
        text = text.replace(old, new)
    return text


class Proxy:
    """A running proxy; leaving its `with` ends it."""

    def __init__(self, work, server_address):
        if not shutil.which(self.program):
            raise unittest.SkipTest(f"no {self.program} here: apt-get install {self.program}")
        work.mkdir()
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self._log = work / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(self.command(work, server_address, port), stdout=log, stderr=log,
                                             env={**os.environ, "HOME": str(work), "XDG_DATA_HOME": str(work), "XDG_CONFIG_HOME": str(work)})
        try:
            self._await(port)
        except AssertionError:
            self.__exit__()
            raise

    def _await(self, port):
        end = time.monotonic() + 30
        while True:
            assert self._process.poll() is None and time.monotonic() < end, self._log.read_text()
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=30)


class Nginx(Proxy):
    program = "nginx"

    def command(self, work, server_address, port):
        site = edited("nginx.conf", server_address, ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
                      ("  ssl_certificate /etc/ssl/llm.example.pem;\n  ssl_certificate_key /etc/ssl/llm.example.key;\n", ""))
        folders = "".join(f"{kind}_temp_path {work}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (work / "nginx.conf").write_text(f"daemon off;\npid {work}/pid;\nworker_processes 1;\nevents {{}}\n"
                                         f"http {{\naccess_log off;\n{folders}{site}}}\n")
        return ["nginx", "-e", "stderr", "-p", work, "-c", work / "nginx.conf"]


class Caddy(Proxy):
    program = "caddy"

    def command(self, work, server_address, port):
        site = edited("Caddyfile", server_address, ("llm.example {", f":{port} {{"))
        (work / "Caddyfile").write_text("{\n  admin off\n}\n" + site)
        return ["caddy", "run", "--adapter", "caddyfile", "--config", work / "Caddyfile"]
