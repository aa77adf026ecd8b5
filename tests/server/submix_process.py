"""A tiny deployment, and `submix serve` as a real process, for the tests of the programs.

Reads BUILD_DIR and SOURCE_DIR from the command line of the test that imports it.
"""

import fcntl
import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SUBMIX = str(BUILD / "submix")
PUBLIC = SOURCE / "data/public_model"
PARTITION_KEY = SOURCE / "data/demo_partition.key"


def run(*arguments, expect=0):
    result = subprocess.run([SUBMIX, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert result.returncode == expect, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def train_ensemble(text, ensemble, public):
    run("train", text, ensemble, "--public", public, "--parts", 2, "--rank", 2, "--targets", "c_attn", "--top-layers", 1,
        "--block-tokens", 32, "--batch-size", 2, "--threads", 1, "--heldout-fraction", 0, "--partition-key", PARTITION_KEY)


def copy_ensemble(text, ensemble):
    """A copy of the one that the first test after a build has trained, and left in the build directory."""
    files = (BUILD / "submix-train", pathlib.Path(__file__), PARTITION_KEY, *sorted(PUBLIC.iterdir()))
    made_of = repr([(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files])
    kept = BUILD / "tests_ensemble"
    kept.mkdir(exist_ok=True)
    note = kept / "made_of"  # there only beside a whole copy
    with open(kept / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if note.exists() and note.read_text() == made_of:
            shutil.copytree(kept / "ensemble", ensemble)
            return
        train_ensemble(text, ensemble, PUBLIC)
        note.unlink(missing_ok=True)
        shutil.rmtree(kept / "ensemble", ignore_errors=True)
        shutil.copytree(ensemble, kept / "ensemble")
        note.write_text(made_of)


def make_ensemble(work, public=PUBLIC):
    """A tiny ensemble; returns its directory."""
    with open(work / "text.jsonl", "w") as corpus:
        for user in "abcdefghijkl":
            text = f"The {user} of the house went out to see the sea and the hill."
            corpus.write(json.dumps({"user": user, "text": text}) + "\n")
    ensemble = work / "ensemble"
    if public == PUBLIC:
        copy_ensemble(work / "text.jsonl", ensemble)
    else:
        train_ensemble(work / "text.jsonl", ensemble, public)
    return ensemble


def make_private_model(directory):
    """The public model, as if DP-SGD had trained it on users' text; returns its directory."""
    shutil.copytree(SOURCE / "data/public_model", directory)
    (directory / "private_training.json").write_text(json.dumps({
        "format": 1, "mechanism": "dp-sgd", "unit": "user", "sampling_probability": 0.01, "noise_multiplier": 1.1,
        "steps": 500, "delta": 1e-5, "epsilon": 3}))
    return directory


def promised_epsilon(text, delta):
    """What a statement promises to one user in (epsilon, delta)."""
    promise = re.search(r"\(([0-9.]+), ([0-9e.-]+)\)-differentially private for one", " ".join(text.split()))
    assert promise and float(promise[2]) == delta, text
    return float(promise[1])


def make_deployment(work, *options, epsilon=2):
    """A tiny deployment, "tales"; returns its directory."""
    run("deploy", make_ensemble(work), work / "tales", "--epsilon", epsilon, *options)
    return work / "tales"


def make_deployment_to_copy(work, *options, **more):
    """The same, moved from where its ensemble knows it: its copies, each in a folder of its own, may
    answer, each with a budget of its own, of nobody's text."""
    return make_deployment(work, *options, **more).rename(work / "copied")


def make_key(deployment, name, *options):
    """Returns the secret."""
    return json.loads(run("key", "create", deployment, "--name", name, "--json", *options).stdout)["secret"]


class WorkFolderTest(unittest.TestCase):
    """`work` is a folder of the class, gone after its tests."""

    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)


class Server:
    """A running `submix serve`. Leaving its `with` ends it, however that goes. `launcher` stands before
    the program; `options` are Popen's."""

    def __init__(self, deployment, *arguments, launcher=(), **options):
        self.process = subprocess.Popen([*launcher, SUBMIX, "serve", str(deployment), *map(str, arguments)],
                                        stderr=subprocess.PIPE, text=True, **options)
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
        # Read all the time: lines that a full pipe has no room for are dropped.
        self._log = []
        self._reader = threading.Thread(target=lambda: self._log.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.process.stderr.close()

    def stop(self, number=signal.SIGTERM, expect=0):
        """Returns the rest of the log."""
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        self._reader.join()
        assert self.process.returncode == expect, "".join(self._log)
        return [json.loads(line) for line in self._log]

    def kill(self):
        """As kill -9."""
        self.process.kill()
        self.process.wait()
        self._reader.join()


def connect(address, key):
    """A connection, and the headers of a request with this key."""
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return http.client.HTTPConnection(address.removeprefix("http://"), timeout=60), headers


def ask(address, method, path, key=None, body=None):
    """Status and text of the answer."""
    connection, headers = connect(address, key)
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    response = connection.getresponse()
    try:
        return response.status, response.read().decode()
    finally:
        connection.close()


def completion(model, **fields):
    """The body of a short request."""
    return {"model": model, "prompt": "The sea", "max_tokens": 4, **fields}


def install_openai_client(work):
    """The official client in a folder, with the tests' scripts beside it. Skips the test that asks for it
    where node, npm or the registry is missing."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise unittest.SkipTest("no node and npm here")
    client = work / "openai_client"
    shutil.copytree(SOURCE / "tests/server/openai_client", client)
    installed = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=client, capture_output=True,
                               text=True, timeout=180)
    if installed.returncode != 0:
        raise unittest.SkipTest("npm could not install the client: is there a registry?\n" + installed.stderr[-500:])
    return client
