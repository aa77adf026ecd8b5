#!/usr/bin/env python3
"""Writes the ledgers of this folder from docs/ledger_format.md, sharing no code with Submix.

    make_ledgers.py [FOLDER]

Both formats get the same history; README.md says what it amounts to.
"""

import hashlib
import pathlib
import sqlite3
import struct
import sys

LINEAGE = bytes(range(16))
FINGERPRINT = hashlib.sha256(b"first deployment").digest()
NEW_FINGERPRINT = hashlib.sha256(b"rebound deployment").digest()
ORDER = "2"
BUDGETS = [1_000_000_000_000_000, 2_000_000_000_000_000, 500]
CARRIED_OVER = [23_456_789_012_345, 0, 100]

PER_PART, ALL_OR_STOP = 1, 2
SAT_OUT, PAID, EMPTIED = 0, 1, 2
CREATE, CHARGE, REBIND = 1, 2, 3

# (session, number, rule, [(outcome, amount) for each part]); format 1 knows PER_PART and PAID only,
# a part that sits out booked zero.
STEPS_BEFORE_REBINDING = [
    [(7, 1, PER_PART, [(PAID, 60_000_000_000_000), (PAID, 1_500_000_000_000_000), (PAID, 390)]),
     (7, 2, PER_PART, [(PAID, 40_000_000_000_000), (SAT_OUT, 0), (SAT_OUT, 0)])],
    [(7, 3, PER_PART, [(PAID, 0), (PAID, 100_000_000_000_000), (PAID, 0)])],
]
STEPS_AFTER_REBINDING = [
    [(8, 1, ALL_OR_STOP, [(SAT_OUT, 0), (EMPTIED, 400_000_000_000_000), (SAT_OUT, 0)])],
]


def text(value):
    data = value.encode()
    return struct.pack("<H", len(data)) + data


class Ledger:
    def __init__(self, path, layout):
        self.layout = layout
        self.fingerprint = FINGERPRINT
        self.spent = list(CARRIED_OVER)
        self.records = 0
        self.hash = bytes(32)
        for leftover in path.parent.glob(path.stem + ".*"):
            leftover.unlink()
        self.anchor_path = path.with_suffix(".anchor")
        self.database = sqlite3.connect(path, isolation_level=None)
        run = self.database.execute
        run("PRAGMA page_size = 4096")
        run("BEGIN")
        run(f"PRAGMA application_id = {0x53424d58}")
        run(f"PRAGMA user_version = {layout}")
        run("CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), lineage BLOB NOT NULL, "
            "fingerprint BLOB NOT NULL, order_text TEXT NOT NULL) STRICT")
        name = "name TEXT NOT NULL, " if layout >= 2 else ""
        run(f"CREATE TABLE accounts (part INTEGER PRIMARY KEY, {name}budget INTEGER NOT NULL, "
            "spent INTEGER NOT NULL) STRICT")
        run("CREATE TABLE records (number INTEGER PRIMARY KEY, previous BLOB NOT NULL, "
            "payload BLOB NOT NULL, hash BLOB NOT NULL) STRICT")
        self.append(CREATE, self.state())

    def state(self):
        data = LINEAGE + self.fingerprint + text(ORDER) + struct.pack("<I", len(BUDGETS))
        for part, (budget, spent) in enumerate(zip(BUDGETS, self.spent)):
            if self.layout >= 2:
                data += text(f"part {part}")
            data += struct.pack("<qq", budget, spent)
        return data

    def append(self, kind, body):
        payload = struct.pack("<BB", kind, self.layout) + body
        if self.layout >= 2:
            payload += hashlib.sha256(self.state()).digest()
        previous = self.hash
        self.records += 1
        self.hash = hashlib.sha256(previous + struct.pack("<q", self.records) + payload).digest()
        self.database.execute("INSERT INTO records VALUES (?, ?, ?, ?)",
                              (self.records, previous, payload, self.hash))

    def charge(self, requests):
        body = struct.pack("<I", len(requests))
        for session, number, rule, parts in requests:
            body += struct.pack("<QQ", session, number)
            if self.layout >= 2:
                body += struct.pack("<B", rule)
            for part, (outcome, amount) in enumerate(parts):
                if self.layout >= 2:
                    body += struct.pack("<B", outcome)
                body += struct.pack("<q", amount)
                self.spent[part] += amount
        self.append(CHARGE, body)

    def rebind(self, fingerprint):
        body = self.fingerprint + fingerprint
        self.fingerprint = fingerprint
        self.append(REBIND, body)

    def finish(self):
        run = self.database.execute
        run("INSERT INTO meta VALUES (1, ?, ?, ?)", (LINEAGE, self.fingerprint, ORDER))
        for part, (budget, spent) in enumerate(zip(BUDGETS, self.spent)):
            name = (f"part {part}",) if self.layout >= 2 else ()
            row = (part, *name, budget, spent)
            run(f"INSERT INTO accounts VALUES ({', '.join('?' * len(row))})", row)
        run("COMMIT")
        self.database.close()
        line = f"submix-anchor 1 {LINEAGE.hex()} {self.records:020d} {self.hash.hex()} "
        line += hashlib.sha256(line.encode()).hexdigest()
        slot = line.ljust(511) + "\n"
        self.anchor_path.write_text(slot + slot)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for layout in (1, 2):
        ledger = Ledger(folder / f"format{layout}.sqlite", layout)
        for step in STEPS_BEFORE_REBINDING:
            ledger.charge(step)
        ledger.rebind(NEW_FINGERPRINT)
        for step in STEPS_AFTER_REBINDING:
            ledger.charge(step)
        print(f"format {layout}: {ledger.records} records, spent {ledger.spent}")
        ledger.finish()


if __name__ == "__main__":
    main()
