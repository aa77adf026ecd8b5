"""Many clients at once that do not behave, in one thread; and the memory of the server that they mean."""

import errno
import pathlib
import resource
import select
import socket
import threading
import time


def raise_file_limit():
    """For this process: each connection is a file of ours, too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Memory:
    """Resident memory of a process, in MiB, measured from now on."""

    def __init__(self, pid):
        self._folder = pathlib.Path(f"/proc/{pid}")
        self.idle = self.resident()
        (self._folder / "clear_refs").write_text("5")  # the peak begins anew

    def resident(self):
        return self._read("VmRSS")

    def above_idle(self):
        return self.resident() - self.idle

    def peak_above_idle(self):
        return self._read("VmHWM") - self.idle

    def files(self):
        return len(list((self._folder / "fd").iterdir()))

    def _read(self, name):
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
        raise AssertionError(name)


class Member:
    """One connection of a crowd."""

    def __init__(self, host, port, crowd):
        self.socket = socket.socket()
        if not crowd.reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(10)
        self.socket.connect((host, port))
        self.socket.setblocking(False)
        self.unsent = memoryview(crowd.data)
        self.due = 0.0
        self.received = b""
        self.closed_at = None

    def write(self, crowd, now):
        """As much as the server takes, or a piece."""
        try:
            while self.unsent and now >= self.due:
                sent = self.socket.send(self.unsent[:crowd.piece])
                self.unsent = self.unsent[sent:]
                if crowd.interval:
                    self.due = now + crowd.interval
        except BlockingIOError:
            pass

    def read(self):
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return True
        self.received = (self.received + data)[:4096]
        return bool(data)

    def has_ended(self):
        """Looks without reading. An end that stands behind what was never read is not seen."""
        poll = select.poll()
        poll.register(self.socket, select.POLLRDHUP)
        return bool(poll.poll(0))


class Crowd:
    """`count` connections to `address`. Each sends `data`: whole, or `piece` bytes each `interval` seconds; reads what comes or
    nothing at all; and, if it `returns`, connects anew when it was closed and begins anew when all is sent."""

    def __init__(self, address, count, data=b"", piece=1 << 18, interval=0.0, reads=False, returns=False):
        self.data, self.piece, self.interval = data, piece, interval
        self.reads, self.returns = reads, returns
        self._host, port = address.removeprefix("http://").rsplit(":", 1)
        self._port = int(port)
        self._over = threading.Event()
        self.failure = None
        self.started = time.monotonic()
        self.members = [Member(self._host, self._port, self) for _ in range(count)]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        for member in self.members:
            member.socket.close()
        if self.failure:
            raise self.failure

    def sent(self):
        """How many have sent all they have."""
        return sum(not member.unsent for member in self.members)

    def closed(self):
        return sum(member.closed_at is not None for member in self.members)

    def last_closed(self):
        """Seconds after the start."""
        return max(member.closed_at for member in self.members) - self.started

    def _run(self):
        try:
            while not self._over.is_set():
                now = time.monotonic()
                for place, member in enumerate(self.members):
                    if member.closed_at is None and not self._step(member, now):
                        member.closed_at = now
                    if self.returns:
                        self._return(place, member)
                self._over.wait(0.02)
        except Exception as failure:  # a thread's own would be lost
            self.failure = failure

    def _step(self, member, now):
        try:
            member.write(self, now)
            return member.read() if self.reads else not member.has_ended()
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ECONNRESET):
                return False
            raise

    def _return(self, place, member):
        if member.closed_at is not None:
            member.socket.close()
            due = member.due
            self.members[place] = Member(self._host, self._port, self)
            self.members[place].due = due  # no faster than a connection that is kept
        elif not member.unsent:
            member.unsent = memoryview(self.data)
