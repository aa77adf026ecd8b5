"""Computes logits for `submix serve --predictor external:SOCKET`: docs/python.md, docs/logits_protocol.md.

Needs only NumPy: a process that has no other part of Submix can serve logits with this file alone.
"""

import json
import logging
import os
import socket as sockets
import struct

import numpy

_LENGTH = struct.Struct("<Q")
_STEP = struct.Struct("<QII")  # its number, sequences that have ended, appends
_APPEND = struct.Struct("<qII")  # sequence, whether it predicts, tokens


class LogitsSequence:
    """What one client has asked and been answered so far."""

    def __init__(self, id):
        self.id = id
        self.tokens = []  # ids, all of them
        self.new = 0  # how many of them, at the end, came since the last call that had this sequence
        self.state = None  # the caller's, such as keys and values; dropped when the sequence ends


def serve_logits(predict, socket, *, rows, vocabulary, context, digest, dtype="float32", tokenizer=None, prefill=None):
    """Listens at `socket`, a path, and computes until it is interrupted, for one server at a time.

    predict(sequences) returns [len(sequences), rows, vocabulary]: for each LogitsSequence the logits of the token
    after its last one, row 0 the public model's, then the members' in the order of their parts; finite numbers,
    NumPy's array or anything that numpy.asarray takes. It does the same work whatever the text says.
    prefill(sequences), if given, gets pieces of long prompts, and returns nothing; else these wait for predict.

    rows        1 + members
    vocabulary  tokens, as `submix deploy --vocabulary`
    context     the most tokens of a sequence
    digest      what identifies the ensemble: `submix deploy --external`, else the "ensemble_fingerprint" of
                deployment.json. A server of another ensemble goes away
    dtype       "float32", or "float16": half the bytes, for logits within ±65504
    tokenizer   SHA-256 of tokenizer.json (or vocab.json) in hex; the server then compares it with its own

    An exception of predict is logged (logger "submix"), and all that was running ends with an error for its
    clients; the next requests are served. OSError if another process listens at the socket.
    """
    hello = {"protocol": 2, "rows": rows, "vocabulary": vocabulary, "context": context,
             "type": numpy.dtype(dtype).name, "digest": digest}
    if tokenizer is not None:
        hello["tokenizer"] = tokenizer
    if hello["type"] not in ("float16", "float32"):
        raise ValueError(f"dtype: expected float16 or float32, found {hello['type']}")
    listener = _listen(socket)
    try:
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    _send(connection, json.dumps(hello).encode())
                    _answer(connection, predict, prefill, (rows, vocabulary), hello["type"])
                except ConnectionError:
                    pass  # the server has gone
                except Exception:
                    logging.getLogger("submix").exception("a step failed")
    finally:
        listener.close()
        os.unlink(socket)


def _listen(path):
    """A socket for this user alone; one that a dead process has left is replaced."""
    try:
        with sockets.socket(sockets.AF_UNIX) as other:
            other.connect(path)
        raise OSError(f"{path}: another process listens there")
    except FileNotFoundError:
        pass
    except ConnectionRefusedError:
        os.unlink(path)
    listener = sockets.socket(sockets.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o600)  # before anybody can connect
    listener.listen()
    return listener


def _answer(connection, predict, prefill, shape, dtype):
    """Step after step, until the server goes."""
    sequences = {}
    while True:
        message = _receive(connection, *_LENGTH.unpack(_receive(connection, _LENGTH.size)))
        number, appended = _read_step(message, sequences)
        pieces = [sequence for sequence, predicts in appended if not predicts]
        predicting = [sequence for sequence, predicts in appended if predicts]
        if pieces and prefill is not None:
            prefill(pieces)
            _see(pieces)
        logits = numpy.empty((0, *shape), dtype)
        if predicting:
            logits = numpy.ascontiguousarray(predict(predicting), dtype)
            _see(predicting)
        if logits.shape != (len(predicting), *shape):
            raise ValueError(f"predict: expected {(len(predicting), *shape)}, found {logits.shape}")
        if appended:
            _send(connection, logits.reshape(-1).view(numpy.uint8), before=_LENGTH.pack(number))


def _see(sequences):
    for sequence in sequences:
        sequence.new = 0


def _read_step(message, sequences):
    """Brings `sequences`, by id, up to date. Returns the step's number and those with new tokens, and whether each predicts."""
    number, closed, appends = _STEP.unpack_from(message)
    at = _STEP.size
    for (id,) in struct.iter_unpack("<q", message[at : at + 8 * closed]):
        sequences.pop(id, None)
    at += 8 * closed
    appended = []
    for _ in range(appends):
        id, predicts, count = _APPEND.unpack_from(message, at)
        at += _APPEND.size
        sequence = sequences.setdefault(id, LogitsSequence(id))
        sequence.tokens += numpy.frombuffer(message, "<i4", count, at).tolist()
        sequence.new += count
        at += 4 * count
        appended.append((sequence, bool(predicts)))
    return number, appended


def _send(connection, body, before=b""):
    connection.sendall(_LENGTH.pack(len(before) + len(body)) + before)
    connection.sendall(body)


def _receive(connection, count):
    body = bytearray(count)
    rest = memoryview(body)
    while rest:
        received = connection.recv_into(rest)
        if received == 0:
            raise ConnectionResetError("the server closed the connection")
        rest = rest[received:]
    return bytes(body)
