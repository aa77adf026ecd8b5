#!/usr/bin/env python3
"""How far one PostgreSQL carries several Submix servers (docs/scaling.md): one JSON object a line.

    scaling.py build/release [ledger] [servers] [socket] [--delay-ms 0,0.25,1] [--python PYTHON_WITH_NUMPY]

  ledger   processes of ledger_benchmark that charge one ledger at the same time
  servers  `submix serve` on one budget, whose models are a process that answers at once with fixed logits
  socket   bytes a second through a Unix socket, as logits come; no network, no database

The database and each server have a network namespace, and so a host, of their own, in namespaces of this program's own,
which vanish with it: it needs root, util-linux, iproute2 and Debian's PostgreSQL. A delay is that of one way to the
database; frames are carried late by this program, since not every kernel has `tc netem`. `round_trip_ms` is measured.
"""

import argparse
import contextlib
import fcntl
import hashlib
import http.client
import json
import multiprocessing
import os
import pathlib
import queue
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/server"))
from postgres_process import Postgres

PUBLIC = SOURCE / "data/public_model"
SUBNET = "10.9.0."
VOCABULARY = 8192  # the bundled model's
HTTP_PORT = 8080
MEASUREMENTS = ("ledger", "servers", "socket")


def numbers(kind):
    return lambda text: [kind(number) for number in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder of a release build, with ledger_benchmark")
    parser.add_argument("what", nargs="*", help=" ".join(MEASUREMENTS) + "; all without")
    parser.add_argument("--servers", type=numbers(int), default=[1, 2, 4], help="processes at the same time, a line each")
    parser.add_argument("--sequences", type=numbers(int), default=[1, 16, 64], help="ledger: tokens charged in a step")
    parser.add_argument("--parts", type=int, default=16, help="of the ensemble, one member each")
    parser.add_argument("--clients", type=numbers(int), default=[16], help="servers: connections to each, a line each")
    parser.add_argument("--answer", type=int, default=64, help="servers: tokens of an answer")
    parser.add_argument("--top-k", type=int, default=64, help="servers: likeliest tokens that are mixed; 0: all")
    parser.add_argument("--dtype", choices=("float16", "float32"), default="float16", help="servers: of the logits")
    parser.add_argument("--wait-ms", type=float, default=0, help="servers: what computing the logits of a step takes")
    parser.add_argument("--delay-ms", type=numbers(float), default=[0, 0.25, 1], help="of one way to the database")
    parser.add_argument("--database-per-server", action="store_true", help="a ledger for each: users are divided among them")
    parser.add_argument("--seconds", type=float, default=3, help="that each line is measured")
    parser.add_argument("--directory", default="/var/tmp", help="on the disk of the database and the deployments")
    parser.add_argument("--python", default=sys.executable, help="one that has NumPy")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = set(arguments.what) - set(MEASUREMENTS)
    if unknown:
        parser.error(f"no measurement {min(unknown)}: there are {', '.join(MEASUREMENTS)}")
    arguments.what = arguments.what or MEASUREMENTS
    arguments.build = arguments.build.resolve()
    return arguments


def show(**result):
    rounded = {key: round(value, 3) if isinstance(value, float) else value for key, value in result.items()}
    print(json.dumps({"benchmark": "scaling", **rounded}), flush=True)


# --- the network


class Host:
    """A network namespace on the bridge; `launcher` stands before what is to run there."""

    def __init__(self, name, number, delay_ms=0):
        self.address = f"{SUBNET}{number}"
        self.launcher = ["nsenter", f"--net=/run/netns/{name}"]
        ip("netns", "add", name)
        if delay_ms > 0:
            lay_slow_cable(name, delay_ms)
        else:
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", name, "master", "bridge", "up")
        for command in (["addr", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                        ["link", "set", "lo", "up"]):
            ip(*command, launcher=self.launcher)


def ip(*arguments, launcher=()):
    subprocess.run([*launcher, "ip", *arguments], check=True)


def make_bridge():
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)  # ours alone; namespaces' names lie there
    os.mkdir("/run/netns")
    ip("link", "set", "lo", "up")
    ip("link", "add", "bridge", "type", "bridge")
    ip("addr", "add", f"{SUBNET}1/24", "dev", "bridge")
    ip("link", "set", "bridge", "up")


def open_tap(name):
    """A network device whose frames are read from and written to the descriptor."""
    set_interface, ethernet_frames_alone = 0x400454CA, 0x0002 | 0x1000
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(descriptor, set_interface, struct.pack("16sH22x", name.encode(), ethernet_frames_alone))
    return descriptor


def lay_slow_cable(name, delay_ms):
    """Between the bridge's port `name` and eth0 of the namespace `name`."""
    near, far = open_tap(name), open_tap("far")
    ip("link", "set", "far", "netns", name, "name", "eth0")
    multiprocessing.Process(target=carry_both_ways, args=(near, far, 1e-3 * delay_ms), daemon=True).start()


def carry_both_ways(near, far, delay):
    threading.Thread(target=carry, args=(near, far, delay), daemon=True).start()
    carry(far, near, delay)


def carry(source, sink, delay):
    frames = queue.SimpleQueue()
    threading.Thread(target=deliver, args=(frames, sink), daemon=True).start()
    while True:
        frame = os.read(source, 65536)
        frames.put((time.monotonic() + delay, frame))


def deliver(frames, sink):
    while True:
        due, frame = frames.get()
        time.sleep(max(0, due - time.monotonic()))
        with contextlib.suppress(OSError):  # the other end is not up yet
            os.write(sink, frame)


def round_trip_ms(address, port):
    """The median of what connecting takes."""
    times = []
    for _ in range(50):
        start = time.perf_counter()
        socket.create_connection((address, port)).close()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


# --- ledger


class World:
    """The database's host, and one for each server."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.delay_ms = arguments.delay_ms[0]
        make_bridge()
        database = Host("database", 2, self.delay_ms)
        self.hosts = [Host(f"server{i}", 10 + i) for i in range(max(arguments.servers))]
        self.postgres = Postgres(arguments.inside / "postgres", database.address, database.launcher)
        self.round_trip_ms = round_trip_ms(database.address, self.postgres.port)
        self.databases = 0

    def new_locations(self, servers):
        """The location of each server's ledger: of a new database, or of one each."""
        names = []
        for _ in range(servers if self.arguments.database_per_server else 1):
            names.append(f"submix{self.databases}")
            self.databases += 1
            self.postgres.query("postgres", f"CREATE DATABASE {names[-1]}")
        address = self.postgres.environment["PGHOST"]
        locations = [f"postgresql://submix@{address}:{self.postgres.port}/{name}" for name in names]
        return names, [locations[i % len(locations)] for i in range(servers)]

    def show(self, **result):
        show(delay_ms=self.delay_ms, round_trip_ms=self.round_trip_ms,
             databases="one each" if self.arguments.database_per_server else "one", **result)


def measure_ledger(world, processes, sequences):
    arguments = world.arguments
    charge = [arguments.build / "ledger_benchmark", "--json", "--parts", str(arguments.parts)]
    _, locations = world.new_locations(processes)
    for location in set(locations):
        subprocess.run([*charge, "--steps", "1", "--sequences", "1", "--database", location], check=True,
                       stdout=subprocess.DEVNULL, cwd=arguments.inside)
    running = [subprocess.Popen([*host.launcher, *charge, "--join", "--seconds", str(arguments.seconds), "--sequences",
                                 str(sequences), "--database", location], stdout=subprocess.PIPE, text=True,
                                cwd=arguments.inside)
               for host, location in zip(world.hosts, locations)]
    outputs = [process.communicate()[0] for process in running]
    if any(process.returncode != 0 for process in running):
        sys.exit("scaling.py: ledger_benchmark failed")
    results = [json.loads(output) for output in outputs]
    charges = float(sum(result["charges_per_second"] for result in results))
    world.show(what="ledger", processes=processes, sequences=sequences, parts=arguments.parts, charges_per_s=charges,
               steps_per_s=charges / sequences, step_ms=statistics.median(result["step_ms"] for result in results),
               step_ms_p90=max(result["step_ms_p90"] for result in results))


# --- servers


def run_submix(build, *command):
    return subprocess.run([build / "submix", *map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout


def digest_of(name):
    return hashlib.sha256(name.encode()).hexdigest()


def deploy(arguments, folder, name, location):
    """A deployment, and its key's secret. So much budget that every part pays to the end."""
    deployment = folder / name
    run_submix(arguments.build, "deploy", folder / f"{name}_ensemble", deployment, "--external", digest_of(name), "--parts",
               arguments.parts, "--vocabulary", VOCABULARY, "--tokenizer", PUBLIC, "--ledger", location, "--epsilon", 8000,
               "--tokens", 1000000)
    key = json.loads(run_submix(arguments.build, "key", "create", deployment, "--name", "scaling", "--json"))["secret"]
    return deployment, key


def eventually(condition, what, processes):
    """Waits for it, while the processes live."""
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end or any(process.poll() is not None for process in processes):
            sys.exit(f"scaling.py: {what}: it did not come about")
        time.sleep(0.02)


def listens(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


class Server:
    """`submix serve` of a deployment on a host, and the process that computes its logits."""

    def __init__(self, arguments, host, deployment, key, folder):
        self.address, self.model, self.key = host.address, deployment.name, key
        path = folder / f"{host.address}.sock"
        self.computing = subprocess.Popen(
            [arguments.python, SOURCE / "benchmarks/constant_logits.py", SOURCE / "submix/python", path,
             digest_of(deployment.name), str(1 + arguments.parts), str(VOCABULARY), arguments.dtype, str(arguments.wait_ms)])
        eventually(lambda: listens(path), "the process of the logits listens", [self.computing])
        with open(folder / f"{host.address}.log", "w") as log:
            self.process = subprocess.Popen(
                [*host.launcher, arguments.build / "submix", "serve", deployment, "--host", host.address, "--port",
                 str(HTTP_PORT), "--predictor", f"external:{path}"], stderr=log)
        eventually(self.is_ready, f"a server is ready ({log.name})", [self.computing, self.process])

    def is_ready(self):
        connection = http.client.HTTPConnection(self.address, HTTP_PORT, timeout=10)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.computing.kill()
        self.computing.wait()


class Clients:
    """Connections that ask again and again, until stopped. Not streams: reading these in Python would be what is measured."""

    def __init__(self, servers, each, tokens, top_k):
        self.answers = []  # the tokens of each
        self._tokens, self._top_k = tokens, top_k
        self._over = threading.Event()
        self.failures = []
        self.threads = [threading.Thread(target=self._ask, args=(server,), daemon=True)
                        for server in servers for _ in range(each)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self._over.set()
        for thread in self.threads:
            thread.join()
        if self.failures:
            sys.exit(f"scaling.py: a client: {self.failures[0]}")

    @property
    def tokens(self):
        return sum(self.answers)

    def _ask(self, server):
        body = json.dumps({"model": server.model, "prompt": "My lord,", "max_tokens": self._tokens, "top_k": self._top_k})
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
        connection = http.client.HTTPConnection(server.address, HTTP_PORT, timeout=60)
        try:
            while not self._over.is_set():
                connection.request("POST", "/v1/completions", body, headers)
                response = connection.getresponse()
                text = response.read().decode()
                if response.status != 200:
                    raise RuntimeError(f"{response.status} {text}")
                self.answers.append(json.loads(text)["usage"]["completion_tokens"])
        except Exception as failure:  # a thread's own would be lost
            self.failures.append(failure)
        finally:
            connection.close()


def count_records(world, names):
    return sum(int(world.postgres.query(name, "SELECT max(number) FROM submix_records")) for name in names)


def count_granted(world, names):
    return sum(world.postgres.granted(name) for name in names)


def start_servers(world, servers, folder):
    """Them, and the names of their databases. Each has a directory, and so an anchor, of its own."""
    arguments = world.arguments
    names, locations = world.new_locations(servers)
    deployments = [deploy(arguments, folder, name, location) for name, location in zip(names, dict.fromkeys(locations))]
    started = []
    for i, host in enumerate(world.hosts[:servers]):
        deployment, key = deployments[i % len(deployments)]
        copied = folder / host.address / deployment.name
        shutil.copytree(deployment, copied)
        started.append(Server(arguments, host, copied, key, folder))
    return started, names, [deployment for deployment, _ in deployments]


def check_budgets(arguments, deployments):
    for deployment in deployments:
        budget = json.loads(run_submix(arguments.build, "budget", "verify", deployment, "--json"))
        if not budget["verified"] or any(part["spent"] > part["budget"] for part in budget["parts"]):
            sys.exit(f"scaling.py: {deployment.name}: the ledger is not whole, or a part is over its budget: {budget}")


def measure_servers(world, servers, connections):
    arguments = world.arguments
    with tempfile.TemporaryDirectory(dir=arguments.inside) as folder:
        started, names, deployments = start_servers(world, servers, pathlib.Path(folder))
        clients = Clients(started, connections, arguments.answer, arguments.top_k)
        eventually(lambda: clients.failures or len(clients.answers) >= len(clients.threads), "clients are answered",
                   [server.process for server in started])
        begin, first, granted_before = time.monotonic(), count_records(world, names), count_granted(world, names)
        time.sleep(arguments.seconds)
        end, last, granted_after = time.monotonic(), count_records(world, names), count_granted(world, names)
        clients.stop()
        for server in started:
            server.stop()
        check_budgets(arguments, deployments)
        granted = count_granted(world, names)
        if clients.tokens > granted:
            sys.exit(f"scaling.py: clients saw {clients.tokens} tokens, and {granted} were granted")
        rate, steps = (granted_after - granted_before) / (end - begin), (last - first) / (end - begin)
        world.show(what="servers", servers=servers, clients=connections, rows=1 + arguments.parts, vocabulary=VOCABULARY,
                   dtype=arguments.dtype, wait_ms=arguments.wait_ms, top_k=arguments.top_k, tokens_per_s=rate,
                   steps_per_s=steps, tokens_a_step=rate / steps, seen=clients.tokens, granted=granted, verified=True)


# --- socket


def send_all(sender, message, times):
    for _ in range(times):
        sender.sendall(message)


def measure_socket(megabytes, times):
    """Messages as large as a step's logits, read into memory that is there already."""
    receiver, sender = socket.socketpair()
    size = megabytes << 20
    sending = multiprocessing.Process(target=send_all, args=(sender, bytes(size), times), daemon=True)
    room = memoryview(bytearray(size))
    start = time.perf_counter()
    sending.start()
    for _ in range(times):
        received = 0
        while received < size:
            received += receiver.recv_into(room[received:])
    seconds = time.perf_counter() - start
    sending.join()
    show(what="socket", message_mib=megabytes, gb_per_s=size * times / seconds / 1e9)


# --- all


def measure_inside():
    arguments = parse()
    world = World(arguments)
    try:
        if "ledger" in arguments.what:
            for sequences in arguments.sequences:
                for processes in arguments.servers:
                    measure_ledger(world, processes, sequences)
        if "servers" in arguments.what:
            for connections in arguments.clients:
                for servers in arguments.servers:
                    measure_servers(world, servers, connections)
    finally:
        world.postgres.stop(signal.SIGQUIT)


def measure_in_namespaces(delay_ms, directory):
    """This program again, with one delay, in namespaces whose processes end with it."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        os.chmod(folder, 0o755)  # the database runs as a user of its own
        return subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable,
                               __file__, *sys.argv[1:], "--delay-ms", str(delay_ms), "--inside", folder]).returncode


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.inside:
        return measure_inside()
    if "socket" in arguments.what:
        measure_socket(4, 500)
        measure_socket(64, 30)
    if set(arguments.what) == {"socket"}:
        return 0
    if os.getuid() != 0:
        return "scaling.py: needs root, for network namespaces of its own"
    for delay_ms in arguments.delay_ms:
        code = measure_in_namespaces(delay_ms, arguments.directory)
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except unittest.SkipTest as missing:
        sys.exit(f"scaling.py: {missing}")
