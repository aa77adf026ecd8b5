"""A PostgreSQL of a test's own, for the tests of the programs."""

import contextlib
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import time
import unittest


class Postgres:
    """A database server whose administrator is "submix", at an address of this host, or of the one that
    `launcher`, which stands before the program, leads to. Skips the test that asks for it where there is
    no PostgreSQL."""

    def __init__(self, folder, address="127.0.0.1", launcher=()):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not programs or (os.getuid() == 0 and "postgres" not in [user.pw_name for user in pwd.getpwall()]):
            raise unittest.SkipTest("no PostgreSQL here")
        self.programs = programs[-1].parent
        self.folder = folder
        self.launcher = launcher
        self.prefix = []
        folder.mkdir()
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        subprocess.run([*self.prefix, self.programs / "initdb", "-D", folder / "data", "-U", "submix", "-A", "trust",
                        "--no-sync"], check=True, capture_output=True, cwd=folder, timeout=120)
        with open(folder / "data/pg_hba.conf", "a") as rules:
            rules.write("host all all samenet trust\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.environment = {"PGHOST": address, "PGPORT": str(self.port), "PGUSER": "submix"}
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*self.launcher, *self.prefix, self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port),
             "-k", self.folder, "-c", f"listen_addresses={self.environment['PGHOST']}"], cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            if subprocess.run([self.programs / "pg_isready", "-d", "postgres"], stdout=subprocess.DEVNULL,
                              env={**os.environ, **self.environment}).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError("PostgreSQL did not start")

    def stop(self, number=signal.SIGTERM):
        """SIGQUIT is as a crash."""
        self.process.send_signal(number)
        self.process.wait(timeout=60)

    def freeze(self):
        """As storage that hangs: the kernel goes on taking connections and bytes."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number):
        # The server first: it must not start others meanwhile.
        self.process.send_signal(number)
        server = self.process.pid
        for child in pathlib.Path(f"/proc/{server}/task/{server}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):  # ended meanwhile
                os.kill(int(child), number)

    def granted(self, database):
        """The releases that the charges of a ledger record: docs/ledger_format.md."""
        return int(self.query(database, """
            SELECT coalesce(sum(get_byte(payload, 2) + 256 * get_byte(payload, 3)), 0)
            FROM submix_records WHERE get_byte(payload, 0) = 2"""))

    def query(self, database, statement):
        """The rows, one a line, columns between bars."""
        command = [self.programs / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **self.environment}).stdout.strip()
