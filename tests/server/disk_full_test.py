#!/usr/bin/env python3
"""The disk of a deployment fills up under `submix serve`, mid-flight. No token leaves without a
record, clients are told so in OpenAI's form, /readyz says not ready; and when there is room again the
server resumes by itself.

    disk_full_test.py BUILD_DIR SOURCE_DIR

The disk is a small tmpfs; where none may be mounted, a limit on the size of the server's files. And an
ext4 of small blocks, nearly full, on which nothing dies by a signal.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import time

from streaming_clients import Answer, Clients, FaultTest, main
from submix_process import SUBMIX, ask, make_deployment_to_copy, make_key, run

PUBLIC_REASON = "could not be written down"


class SmallDisk:
    """A tmpfs with a deployment on it."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "submix-test", directory], check=True,
                       capture_output=True)

    def fill(self, _):
        with open(self.directory / "filler", "ab", buffering=0) as filler:
            size = 1 << 20
            while size > 0:
                try:
                    filler.write(bytes(size))
                except OSError:
                    size //= 2

    def make_room(self, _):
        (self.directory / "filler").unlink()

    def close(self):
        subprocess.run(["umount", self.directory], check=True)


class SmallBlocks:
    """An ext4 with blocks of 1 KB, by which a file may grow into a hole."""

    def __init__(self, directory):
        self.directory = directory
        image = directory.with_suffix(".img")
        with open(image, "wb") as disk:
            disk.truncate(16 << 20)
        directory.mkdir()
        subprocess.run(["mkfs.ext4", "-q", "-b", "1024", "-m", "0", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, directory], check=True, capture_output=True)

    def leave(self, kilobytes):
        """So much is free, within a few blocks."""
        filler = self.directory / "filler"
        filler.unlink(missing_ok=True)
        os.sync()  # what is not yet on the disk is not yet counted
        with open(filler, "wb") as file:
            size = os.statvfs(self.directory).f_bavail * 1024 - kilobytes * 1024
            while size > 0:
                try:
                    os.posix_fallocate(file.fileno(), 0, size)
                    break
                except OSError:
                    size -= 1024

    def close(self):
        subprocess.run(["umount", self.directory], check=True)


class SmallFiles:
    """The other way: no file of the server can grow."""

    def __init__(self, directory):
        directory.mkdir()

    def fill(self, server):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))

    def make_room(self, server):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)

    def close(self):
        pass


class DiskFullTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The ensemble stays outside: its files are not written.
        cls.original = make_deployment_to_copy(cls.work)

    def deploy_on(self, disk_type, name):
        try:
            disk = disk_type(self.work / name)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            why = getattr(error, "stderr", str(error).encode()).decode().strip()
            self.skipTest(f"no such disk may be mounted here: {why}")
        self.addCleanup(disk.close)
        deployment = self.work / name / "tales"
        shutil.copytree(self.original, deployment)
        return disk, deployment

    def test_a_full_disk(self):
        self.fills_up_and_resumes(*self.deploy_on(SmallDisk, "disk"))

    def test_files_that_cannot_grow(self):
        self.fills_up_and_resumes(*self.deploy_on(SmallFiles, "files"))

    def test_a_nearly_full_disk_of_small_blocks(self):
        """One line or none, and never a signal, however little is left: SQLite maps a file of 32 KB."""
        disk, deployment = self.deploy_on(SmallBlocks, "small blocks")
        key = make_key(deployment, "test")
        cache = {"env": {**os.environ, "XDG_CACHE_HOME": str(self.work / "cache")}}
        refused = {"budget": 0, "serve": 0}
        for kilobytes in range(0, 60, 2):
            disk.leave(kilobytes)
            budget = subprocess.run([SUBMIX, "budget", deployment], capture_output=True, text=True, timeout=60)
            self.assertIn(budget.returncode, (0, 1), f"{kilobytes} KB free: {budget.stderr}")
            self.assertEqual(budget.stderr.count("\n"), budget.returncode, budget.stderr)
            refused["budget"] += budget.returncode
            disk.leave(kilobytes)
            serve = subprocess.Popen([SUBMIX, "serve", deployment, "--port", "0"], stderr=subprocess.PIPE, text=True,
                                     **cache)
            with serve:
                lines = []
                for line in serve.stderr:
                    lines.append(line)
                    if "\"listening\"" in line:
                        Answer().read(json.loads(line)["address"], key, max_tokens=2)
                        serve.send_signal(signal.SIGTERM)
            self.assertIn(serve.returncode, (0, 1), f"{kilobytes} KB free: {''.join(lines)}")
            refused["serve"] += serve.returncode
        self.assertGreater(refused["budget"], 0)
        self.assertGreater(refused["serve"], 0)
        (disk.directory / "filler").unlink()
        run("budget", "verify", deployment)

    def fills_up_and_resumes(self, disk, deployment):
        key = make_key(deployment, "test")
        # SIGXFSZ stays ignored, as Python has it: writes then fail, as on a full disk.
        server = self.serve(deployment, restore_signals=False)
        clients = Clients(8, lambda _: server.address, key)
        try:
            for _ in range(2):
                seen = clients.tokens
                self.eventually(lambda: clients.tokens > seen + 20, "it answers")
                for stream in (True, False):
                    self.eventually(lambda: self.is_refused(disk, server, key, stream), "it refuses")
                self.eventually(lambda: self.all_steps_fail(disk, server, clients), "streams break off")
                self.eventually(lambda: not self.is_ready(server), "it is not ready")
                self.assertEqual(ask(server.address, "GET", "/healthz")[0], 200)
                seen = clients.tokens
                disk.make_room(server)
                self.eventually(lambda: self.is_ready(server), "it is ready by itself")
                self.eventually(lambda: clients.tokens > seen, "it resumes by itself")
        finally:
            clients.stop()
        for error in clients.errors():
            self.assertEqual(error["type"], "server_error", error)
            self.assertEqual(error["code"], "unavailable", error)
            self.assertIn(PUBLIC_REASON, error["message"])
            self.assertNotIn(str(self.work), error["message"])
        answer = Answer().read(server.address, key)
        self.assertTrue(answer.is_whole)
        self.assertEqual([server.process.poll(), ask(server.address, "GET", "/healthz")[0]], [None, 200])
        log = [entry.get("message") for entry in server.stop()]
        self.assertIn("engine: a step: well again", log, "the ledger had nothing to recover from")
        self.assert_sound(deployment, clients.tokens + answer.tokens)

    def all_steps_fail(self, disk, server, clients):
        disk.fill(server)
        seen = clients.tokens
        time.sleep(0.5)
        return clients.tokens == seen

    def is_refused(self, disk, server, key, stream):
        # Again and again: recovering makes room by itself, as the log moves into the ledger's file.
        disk.fill(server)
        answer = Answer().read(server.address, key, stream=stream)
        return answer.status == 503 and PUBLIC_REASON in answer.error["message"]


if __name__ == "__main__":
    main()
