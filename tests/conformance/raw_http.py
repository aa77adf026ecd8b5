"""HTTP/1.1 as bytes on a socket: requests of any form, and a reader of answers that takes nothing but whole, well-formed ones.

Sets up the path for `submix_process`, of tests/server.
"""

import pathlib
import re
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) [\x20-\x7e]*")
FIELD_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e]*)")


class NotHttp(Exception):
    """What came is no answer."""


class Answer:
    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields  # name in lower case, value; as they came
        self.body = body

    def values(self, name):
        return [value for field, value in self.fields if field == name]

    def __repr__(self):
        return f"{self.status} {self.body[:60]!r}"


class RawConnection:
    """One connection to `address` (http://HOST:PORT). Reads raise TimeoutError after `patience` seconds."""

    def __init__(self, address, patience=20, receive_buffer=None):
        host, port = address.removeprefix("http://").rsplit(":", 1)
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        self.socket.connect((host, int(port)))
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """False if the server has closed meanwhile, which may be its answer."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def end_sending(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server was faster

    def read_answer(self, to_head=False):
        """The next answer that is final, or None if the connection ended before its first byte."""
        while True:
            answer = self._read_one(to_head)
            if answer is None or answer.status >= 200:
                return answer

    def read_interim(self):
        """The next answer, 100 too."""
        return self._read_one(False)

    def _read_one(self, to_head):
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.split(b"\r\n")
        matched = STATUS_LINE.fullmatch(first)
        if not matched:
            raise NotHttp(f"status line {first[:100]!r}")
        fields = []
        for line in lines:
            field = FIELD_LINE.fullmatch(line)
            if not field:
                raise NotHttp(f"field line {line[:100]!r}")
            fields.append((field[1].decode().lower(), field[2].decode()))
        answer = Answer(int(matched[1]), fields, b"")
        if not to_head and answer.status >= 200:
            answer.body = self._body(answer)
        return answer

    def _body(self, answer):
        lengths, codings = answer.values("content-length"), answer.values("transfer-encoding")
        if len(lengths) + len(codings) > 1:
            raise NotHttp(f"two framings: {answer.fields}")
        if codings:
            if codings != ["chunked"]:
                raise NotHttp(f"coding {codings}")
            return self._chunks()
        if lengths:
            return self._exactly(int(lengths[0]))
        return self.rest()

    def _chunks(self):
        body = b""
        while True:
            size = self._until(b"\r\n")
            if size is None or not re.fullmatch(rb"[0-9a-fA-F]+", size):
                raise NotHttp(f"chunk size {size!r}")
            body += self._exactly(int(size, 16))
            if self._exactly(2) != b"\r\n":
                raise NotHttp("a chunk without its end")
            if int(size, 16) == 0:
                return body

    def rest(self):
        """All bytes until the connection ends."""
        while self._receive():
            pass
        rest, self._buffer = self._buffer, b""
        return rest

    def _until(self, mark):
        while mark not in self._buffer:
            if not self._receive():
                if self._buffer:
                    raise NotHttp(f"cut off: {self._buffer[:100]!r}")
                return None
        found, self._buffer = self._buffer.split(mark, 1)
        return found

    def _exactly(self, size):
        while len(self._buffer) < size:
            if not self._receive():
                raise NotHttp(f"cut off after {len(self._buffer)} of {size} bytes")
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def _receive(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        return bool(data)


def request(first_line, *field_lines, body=b""):
    """A request; Host is there unless `field_lines` name it."""
    lines = [first_line, *field_lines]
    if not any(line.lower().startswith("host:") for line in field_lines):
        lines.insert(1, "Host: localhost")
    return "".join(line + "\r\n" for line in lines).encode("latin-1") + b"\r\n" + body


def json_post(body, *field_lines, path="/v1/completions"):
    return request(f"POST {path} HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(body)}",
                   *field_lines, body=body)
