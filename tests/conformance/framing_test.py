#!/usr/bin/env python3
"""framing_cases.py against a running `submix serve`, byte for byte: each case alone, and with a request pipelined behind it.

    framing_test.py BUILD_DIR SOURCE_DIR [WORD]     only the cases whose description contains WORD

Every answer must be whole and well-formed, and no token may be charged that no answer tells of.
"""

import concurrent.futures
import json
import re
import sys
import unittest

from framing_cases import BODY, CASES, HALF_CLOSED, SECRET
from raw_http import NotHttp, RawConnection, json_post, request
from streaming_clients import FaultTest, releases
from submix_process import Server, make_deployment, make_key

CANARY = request("GET /healthz HTTP/1.1")
OF_CANARY = b'{"status":"ok"}'
THREADS = 8
# Longer than a time-out of the server: what ends only by one is an error of its own.
CONFIG = "[server]\nport = 0\n[timeouts]\nheader = 2.0\nbody = 2.0\nidle = 8.0\n"
PATIENCE = 12


def alternatives(expected):
    """[(the statuses, "kept", "closed" or "either")…]"""
    for alternative in expected.split(" or "):
        *statuses, end = alternative.split()
        yield [set(map(int, status.split("|"))) for status in statuses], end


def fits(expected, got):
    return any(got.end in (("kept", "closed") if end == "either" else (end,)) and len(got.statuses) == len(wanted)
               and all(status in among for status, among in zip(got.statuses, wanted))
               for wanted, end in alternatives(expected))


def faults(answer, to_head):
    """What is wrong with one answer, whatever the request."""
    if answer.status == 499:
        yield "status 499, which is for the log alone"
    if len(answer.values("x-request-id")) != 1 or not answer.values("x-request-id")[0]:
        yield f"{len(answer.values('x-request-id'))} x-request-id"
    if answer.status < 500 and len(answer.values("date")) != 1:
        yield "no Date"  # RFC 9110, 6.6.1
    if answer.status == 405 and not answer.values("allow"):
        yield "405 without Allow"  # RFC 9110, 15.5.6
    if answer.status == 401 and not answer.values("www-authenticate"):
        yield "401 without WWW-Authenticate"
    if b"reflected" in answer.body:
        yield "the request comes back"
    if not to_head:
        try:
            kind = answer.values("content-type")
            if answer.body and kind == ["application/json"]:
                json.loads(answer.body)
            elif kind != ["application/json"]:
                yield f"Content-Type: {kind}"
        except ValueError:
            yield f"no JSON: {answer.body[:60]!r}"


class Exchange:
    """What one connection got."""

    def __init__(self):
        self.statuses = []
        self.end = "closed"  # "kept"; or what should not have been
        self.faults = []
        self.request_ids = []
        self.tokens = 0

    def __str__(self):
        return " ".join([*map(str, self.statuses), self.end])

    def run(self, address, data, answers, is_pipelined, is_half_closed):
        """`answers`: after how many the canary is sent, where it is not pipelined."""
        to_head = data.startswith(b"HEAD")
        with RawConnection(address, PATIENCE) as connection:
            connection.send(data + CANARY if is_pipelined else data)
            if is_half_closed:
                connection.end_sending()
            try:
                while self.end == "closed":
                    if len(self.statuses) == answers and not is_pipelined and not is_half_closed:
                        connection.send(CANARY)
                    answer = connection.read_answer(to_head and not self.statuses)
                    if answer is None:
                        return self
                    self._take(answer, to_head and not self.statuses)
                connection.end_sending()
                if rest := connection.rest():
                    self.end = f"then {rest[:40]!r}"
            except NotHttp as what:
                self.end = f"no HTTP: {what}"
            except TimeoutError:
                self.end = "no end"
        return self

    def _take(self, answer, to_head):
        self.faults += faults(answer, to_head)
        self.request_ids += answer.values("x-request-id")
        if answer.status == 200 and answer.body == OF_CANARY:
            self.end = "kept"
            return
        self.statuses.append(answer.status)
        if answer.status == 200 and b'"completion_tokens"' in answer.body:
            self.tokens += json.loads(answer.body)["usage"]["completion_tokens"]


class FramingTest(FaultTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work, epsilon=8)
        cls.key = make_key(cls.deployment, "test")
        config = cls.work / "serve.toml"
        config.write_text(CONFIG)
        cls.server = cls.enterClassContext(Server(cls.deployment, "--config", config))
        before = releases(cls.deployment)
        word = sys.argv[3] if len(sys.argv) > 3 else ""
        jobs = [(case, is_pipelined, False) for case in CASES for is_pipelined in (False, True) if word in case[0]]
        jobs += [(case, False, True) for case in HALF_CLOSED if word in case[0]]
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            cls.results = list(pool.map(cls.exchange, jobs))
        cls.charged = releases(cls.deployment) - before

    @classmethod
    def exchange(cls, job):
        (what, data, expected), is_pipelined, is_half_closed = job
        answers = max(len(statuses) for statuses, _ in alternatives(expected))
        data = data.replace(SECRET.encode(), cls.key.removeprefix("sk-").encode())
        got = Exchange().run(cls.server.address, data, answers, is_pipelined, is_half_closed)
        return what, expected, ("before another" if is_pipelined else "alone"), got

    def test_every_case_of_the_table(self):
        failures = [result for result in self.results if not fits(result[1], result[3])]
        rows = "\n".join(f"{what[:52]:52}  {how:14}  {expected[:38]:38}  {got}" for what, expected, how, got in failures)
        header = f"{'case':52}  {'sent':14}  {'expected':38}  got"
        if failures:
            self.fail(f"{len(failures)} of {len(self.results)} exchanges\n{header}\n{rows}")

    def test_every_answer_is_well_formed(self):
        cases = {}
        for what, _, _, got in self.results:
            for fault in got.faults:
                cases.setdefault(fault, []).append(what)
        rows = "\n".join(f"{fault:60}  {len(met):4} answers: {', '.join(sorted(set(met)))[:100]}" for fault, met in cases.items())
        if cases:
            self.fail(f"\n{'fault':60}  in\n{rows}")

    def test_no_request_id_comes_twice(self):
        ids = [number for *_, got in self.results for number in got.request_ids]
        self.assertTrue(ids)
        self.assertEqual(len(ids), len(set(ids)))

    def test_no_completion_runs_that_no_answer_tells_of(self):
        """What was smuggled past every answer would still be charged."""
        told = sum(got.tokens for *_, got in self.results)
        self.assertLessEqual(told, self.charged)
        # A client that has hung up may have been charged for what it did not read.
        self.assertLessEqual(self.charged, told + len(HALF_CLOSED))

    def test_the_table_is_well_formed(self):
        names = [what for what, *_ in CASES + HALF_CLOSED]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 120)
        for what, data, expected in CASES + HALF_CLOSED:
            self.assertRegex(expected, re.compile(r"(?:(?:\d{3}(?:\|\d{3})* )*(?:kept|closed|either)(?: or (?=.)|$))+"), what)
            self.assertIsInstance(data, bytes, what)

    def test_a_body_waits_for_100(self):
        head, body = json_post(BODY, f"Authorization: Bearer {self.key}", "Expect: 100-continue").split(b"\r\n\r\n")
        with RawConnection(self.server.address, PATIENCE) as connection:
            connection.send(head + b"\r\n\r\n")
            self.assertEqual(connection.read_interim().status, 100)
            connection.send(body)
            self.assertEqual(connection.read_answer().status, 200)
            connection.send(CANARY)
            self.assertEqual(connection.read_answer().body, OF_CANARY)

    def test_a_body_that_nobody_wants_is_not_asked_for(self):
        head = request("POST /v1/completions HTTP/1.1", "Content-Type: application/json", "Content-Length: 1000000",
                       "Expect: 100-continue")
        with RawConnection(self.server.address, PATIENCE) as connection:
            connection.send(head)
            self.assertEqual(connection.read_interim().status, 401)
            self.assertEqual(connection.rest(), b"")

    def test_a_stream_to_http_1_0_has_no_chunks(self):
        data = request("POST /v1/completions HTTP/1.0", f"Authorization: Bearer {self.key}", "Content-Type: application/json",
                       f"Content-Length: {len(BODY) + 14}", body=BODY[:-1] + b',"stream":true}')
        with RawConnection(self.server.address, PATIENCE) as connection:
            connection.send(data)
            answer = connection.read_answer()
            self.assertEqual((answer.status, answer.values("transfer-encoding")), (200, []))
            self.assertTrue(answer.body.endswith(b"data: [DONE]\n\n"), answer.body)

    def test_the_request_id_is_that_of_the_completion(self):
        """Whole, in a stream, and not the client's own."""
        for stream in (False, True):
            body = BODY[:-1] + b',"stream":%s}' % json.dumps(stream).encode()
            with RawConnection(self.server.address, PATIENCE) as connection:
                connection.send(json_post(body, f"Authorization: Bearer {self.key}", "X-Request-Id: of-the-client"))
                answer = connection.read_answer()
            number = json.loads(answer.body.removeprefix(b"data: ").split(b"\n")[0])["id"]
            self.assertEqual(answer.values("x-request-id"), [number])

    def test_bytes_may_come_one_by_one(self):
        data = json_post(BODY, f"Authorization: Bearer {self.key}")
        with RawConnection(self.server.address, PATIENCE) as connection:
            for byte in data + CANARY:
                connection.send(bytes([byte]))
            self.assertEqual(connection.read_answer().status, 200)
            self.assertEqual(connection.read_answer().body, OF_CANARY)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
