#!/usr/bin/env python3
"""Checks a safetensors file against expected values without any code of ours.

Usage: read_safetensors.py FILE EXPECTED. Each line of EXPECTED: name, dtype, shape as JSON without
spaces, then the values as hexadecimal floats.
"""

import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<Q", content[:8])[0]
    assert length % 8 == 0, "the header is not padded to 8 bytes"
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    assert header.pop("__metadata__") == {"format": "pt"}, "metadata"
    tensors, covered = {}, 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == covered, f"{name}: a hole or an overlap"
        covered, raw = end, data[begin:end]
        code = {"F32": "f", "F16": "e", "BF16": "H"}[entry["dtype"]]
        values = struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)
        if code == "H":
            values = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in values]
        tensors[name] = (entry["dtype"], entry["shape"], list(values))
    assert covered == len(data), "bytes behind the last tensor"
    return tensors


tensors = read(sys.argv[1])
assert list(tensors) == sorted(tensors), "not in name order"
with open(sys.argv[2]) as file:
    for line in file:
        name, dtype, shape, *values = line.split()
        found = tensors.pop(name)
        expected = (dtype, json.loads(shape), [float.fromhex(value) for value in values])
        assert found == expected, f"{name}: expected {expected}, found {found}"
assert not tensors, f"unexpected tensors {list(tensors)}"
