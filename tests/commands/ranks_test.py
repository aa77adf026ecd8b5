#!/usr/bin/env python3
"""`mpirun -n R submix fedavg | train`: the bits of one process, and what happens if one dies.

Usage: ranks_test.py BUILD_DIR SOURCE_DIR. Skipped (77) without mpirun, or if built without MPI.
"""

import csv
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
SUBMIX = BUILD / "submix"
DEADLINE = 600
BLOCKS = ("--block-tokens", 32)
ONE_AT_A_TIME = (*BLOCKS, "--members-at-a-time", 1)
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # One host: no ssh, no network cards, no other process's memory.
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # waiting ranks leave the processor to others
}


def mpirun(ranks, *arguments):
    """The command line that starts the same program so many times."""
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), str(SUBMIX),
            *map(str, arguments)]


def run(ranks, *arguments, code=0, stderr=""):
    """One process if ranks is 0; returns stdout."""
    command = mpirun(ranks, *arguments) if ranks else [str(SUBMIX), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False,
                          timeout=DEADLINE)
    assert (done.returncode == 0) == (code == 0), f"{command}: {done.returncode}\n{done.stderr}"
    lines = [line for line in done.stderr.splitlines() if stderr and stderr in line]
    assert len(lines) == (1 if stderr else 0), f"{command}: not one line {stderr}: {done.stderr}"
    return done.stdout


def kill_rank(command, rank, ready):
    """Starts the command and, once ready() is true, kills one of its processes with -9. False if
    it was done before that."""
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + DEADLINE
        while not ready():
            assert not process.poll() and time.monotonic() < deadline, process.returncode
            time.sleep(0.01)
        victim = process_of_rank(process.pid, rank)
        if victim is not None:
            os.kill(victim, signal.SIGKILL)
        return process.wait(DEADLINE) != 0


def process_of_rank(parent, rank):
    """The child of mpirun that is this rank; None if it is gone."""
    try:
        for child in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            if f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
                return int(child)
    except OSError:
        pass
    return None


def file_bytes(directory, pattern):
    """{path within the directory: content}."""
    found = {str(path.relative_to(directory)): path.read_bytes()
             for path in sorted(directory.rglob(pattern))}
    assert found, f"{directory}: no {pattern}"
    return found


class RanksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        draws = random.Random(1)
        words = ["tide", "comes", "in", "at", "noon", "and", "nobody", "sees", "it", "the", "boat"]
        with open(cls.work / "text.jsonl", "w", encoding="utf-8") as file:
            for user in range(40):
                text = " ".join(draws.choice(words) for _ in range(60 + user))
                file.write(json.dumps({"user": f"u{user}", "text": text}) + "\n")
        with open(cls.work / "few.jsonl", "w", encoding="utf-8") as file:  # for training of adapters
            for user in range(15):
                text = " ".join(draws.choice(words) for _ in range(25 + user))
                file.write(json.dumps({"user": f"u{user}", "text": text}) + "\n")
        (cls.work / "public.txt").write_text(" ".join(words) + "\n")
        run(0, *cls.train("alone 1", *ONE_AT_A_TIME))

    def fedavg(self, out, *more):
        return ["fedavg", self.work / out, "--corpus", self.work / "text.jsonl", "--public-text",
                self.work / "public.txt", "--words", 11, "--width", 8, "--units", 8,
                "--tokens-per-user", 60, *more]

    @classmethod
    def train(cls, out, *more):
        return ["train", cls.work / "few.jsonl", cls.work / out, "--public",
                SOURCE / "data/public_model", "--parts", 5, "--heldout-fraction", 0,
                "--partition-key", SOURCE / "data/demo_partition.key", "--recipe", "paper",
                "--rank", 4, "--batch-size", 2, "--epochs", 2, "--threads", 1, "--precision", "f32", *more]

    def test_federated_model_has_the_same_bits_on_any_number_of_ranks(self):
        everybody = ("--sampling-probability", 1, "--noise", 0, "--clip", 1, "--rounds", 4)
        run(0, *self.fedavg("alone", *everybody, "--threads", 2))
        expected = file_bytes(self.work / "alone/model", "*")
        for ranks, threads in ((2, 1), (3, 2)):
            out = f"ranks {ranks}"
            report = json.loads(run(ranks, *self.fedavg(out, *everybody, "--threads", threads,
                                                        "--json")))
            self.assertEqual(report["rounds"], 4)
            self.assertEqual(file_bytes(self.work / out / "model", "*"), expected)

    def test_a_killed_rank_ends_the_run_and_what_was_charged_stays_charged(self):
        private = ("--expected-users", 20, "--clip", 1, "--noise", 1.5, "--csv",
                   self.work / "killed.csv")

        def rounds():
            if not (self.work / "killed.csv").exists():
                return 0
            lines = (self.work / "killed.csv").read_text().splitlines()
            rows = list(csv.DictReader(lines))
            return int(rows[-1]["round"]) if rows else 0

        for rank in (1, 0):
            before = rounds()
            self.assertTrue(kill_rank(
                mpirun(2, *self.fedavg("killed", *private, "--rounds", 100000)), rank,
                lambda: rounds() >= before + 2))
        done = rounds()
        report = json.loads(run(0, *self.fedavg("killed", *private, "--rounds", done + 2,
                                                "--json")))
        self.assertEqual(report["rounds"], done + 2)
        self.assertLessEqual(done + 2, report["rounds_charged"])
        self.assertLessEqual(report["rounds_charged"], done + 2 + 2)
        promised = {row["label"]: row["user"] for row in report["promise"]["table"]}
        self.assertIn(f"{report['rounds_charged']} rounds charged", promised["mechanism"])

    def test_an_ensemble_has_the_same_bits_on_any_number_of_ranks(self):
        two_at_a_time = (*BLOCKS, "--members-at-a-time", 2)
        run(0, *self.train("alone 2", *two_at_a_time))
        for at_a_time, more in ((1, ONE_AT_A_TIME), (2, two_at_a_time)):
            told = run(2, *self.train(f"ranks {at_a_time}", *more))
            self.assertEqual(told.count("holds 5 parts"), 1)
            self.assertEqual(
                *(file_bytes(self.work / f"{place} {at_a_time}", "adapter_model.safetensors")
                  for place in ("alone", "ranks")))
            manifest = json.loads((self.work / f"ranks {at_a_time}/manifest.json").read_text())
            self.assertTrue(all(member["complete"] for member in manifest["members"]))
        # All is there: nothing is done, on however many ranks.
        run(3, *self.train("ranks 1", *BLOCKS))

    def test_a_killed_rank_loses_no_finished_member(self):
        members = self.work / "ended/members"

        def finished():
            return {path: path.stat().st_mtime_ns
                    for path in members.glob("??/adapter_model.safetensors")}

        if not kill_rank(mpirun(2, *self.train("ended", *ONE_AT_A_TIME)), 1, finished):
            self.skipTest("all was done before it could be killed")
        kept = finished()
        self.assertTrue(kept)
        run(2, *self.train("ended", *ONE_AT_A_TIME))
        self.assertEqual(kept, {path: at for path, at in finished().items() if path in kept})
        self.assertEqual(*(file_bytes(self.work / place, "adapter_model.safetensors")
                           for place in ("alone 1", "ended")))

    def test_a_rank_that_fails_ends_all_with_one_line(self):
        wrong = mpirun(1, *self.train("fails", "--block-tokens", 100000))[4:]
        done = subprocess.run(mpirun(1, *self.train("fails", *BLOCKS)) + [":", *wrong],
                              env=ENVIRONMENT, capture_output=True, text=True, check=False,
                              timeout=DEADLINE)
        self.assertNotEqual(done.returncode, 0)
        lines = [line for line in done.stderr.splitlines() if line.startswith("submix")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("submix train: rank 1: block_tokens", lines[0])
        self.assertFalse((self.work / "fails/members/04").exists())

    def test_other_commands_run_in_one_process(self):
        run(2, "pretrain", "--help", code=2, stderr="in one process")
        private = self.train("private", "--private", "dp-sgd", "--epsilon", 8, "--delta", 1e-5,
                             "--expected-batch", 5)
        parts = private.index("--parts")
        del private[parts:parts + 2]
        run(2, *private, code=1, stderr="in one process")


if shutil.which("mpirun") is None:
    print("skipped: no mpirun")
    sys.exit(77)
if "MPI_Init" not in subprocess.run(["nm", "-D", BUILD / "submix-train"], capture_output=True, text=True,
                                    check=False).stdout:
    print("skipped: built without MPI")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
