#!/usr/bin/python3
"""Writes fingerprints.txt beside this file: 200 generated deployment.json and 200 manifest.json, each a line of
`KIND FINGERPRINT JSON`, the fingerprint computed as docs/deployment_format.md and docs/manifest_format.md describe it."""
import hashlib
import json
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
draw = random.Random(20261128)
DEFAULTS = {"accounting": "default", "sampling_probability": 1.0, "ball_radius": 0.0, "screened_mechanism": "filtered-submix",
            "research": False, "when_exhausted": "public"}
SCREEN = {"mixing_weight": 1e-4, "noise_scale": 1e-2, "threshold": 4.5, "top_tokens": 60}
CLIP = {"stretch": 1.0, "centre": 0.0}


def digest():
    return draw.randbytes(32).hex()


def number(least, most):
    return round(draw.uniform(least, most), draw.randrange(1, 7)) or 0.5


def maybe(value, share=0.5):
    return value if draw.random() < share else None


def options():
    found = {"mechanism": draw.choice(["filtered-submix", "dclip", "filtered-dclip", "pmixed", "adapmixed", "gnmax", "dp-decoding",
                                       "sample-and-aggregate", "screened", "public"]),
             "order": draw.choice(["1.5", "2", "3.186", "8", "64", "inf"]), "epsilon": number(0.1, 40),
             "target_leakage": draw.choice([2 ** -9, 1e-4, 1e-6, number(1e-6, 0.01)]), "max_mixing_weight": number(0.01, 1)}
    # What is given at its default is not in the fingerprint.
    given = {"accounting": maybe(draw.choice(["default", "published", "leave-one-out", "worst-case"])),
             "sampling_probability": maybe(draw.choice([1.0, number(0.01, 1)])),
             "ball_radius": maybe(draw.choice([0.0, number(0.1, 3)])),
             "screen": maybe(draw.choice([SCREEN, SCREEN | {"top_tokens": draw.randrange(1, 500)},
                                          {"mixing_weight": number(0.01, 1), "noise_scale": number(0.01, 1),
                                           "threshold": number(0, 9), "top_tokens": 60}]), 0.3),
             "clip": maybe(draw.choice([CLIP, {"stretch": number(1, 16), "centre": number(-1, 1)}, CLIP | {"centre": 0.7}])),
             "screened_mechanism": maybe(draw.choice(["filtered-submix", "dclip"]), 0.3),
             "research": maybe(draw.choice([True, False]), 0.3),
             "when_exhausted": maybe(draw.choice(["public", "refuse"]), 0.3)}
    given = {name: value for name, value in given.items() if value is not None}
    defaults = DEFAULTS | {"screen": SCREEN, "clip": CLIP}
    return found | given, found | {name: value for name, value in given.items() if value != defaults[name]}


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def deployment():
    written, counted = options()
    file = {"format": 2, "ensemble": "/srv/submix/ensemble", "ensemble_fingerprint": digest(), "lineage": digest()[:16],
            "parts": draw.randrange(1, 300), "delta": 1e-6, "options": written}
    hashed = {"ensemble": file["ensemble_fingerprint"], "options": counted, "parts": file["parts"]}
    if draw.random() < 0.3:
        file["after"] = hashed["after"] = {"lineages": sorted(digest()[:16] for _ in range(draw.randrange(1, 4))),
                                           "most_units": draw.randrange(2 ** 52)}
    if draw.random() < 0.3:
        file["public_keys"] = hashed["public_keys"] = True
        file["format"] = 3
    return file, hashlib.sha256(("submix deployment 1\n" + canonical(hashed)).encode()).hexdigest()


def ensemble():
    halves, parts = draw.choice([1, 2]), draw.randrange(1, 5)
    file = {"format": 5, "generation": 1, "parent_sha256": "", "partition_key_id": digest()[:16], "num_parts": parts, "halves": halves,
            "heldout_fraction": 0.1, "hyper_parameters": {"rank": "8"}, "deployments": [], "forgotten": [], "members": [],
            "file_sha256": {}}
    fields = [("generation", 1), ("partition_key_id", file["partition_key_id"]), ("num_parts", parts), ("halves", halves)]
    external, contexts = draw.choice([(True, False), (False, True), (False, False)])
    if external:
        file["external"] = {"sha256": digest(), "vocabulary": draw.randrange(2, 200000)}
        fields += [("external", file["external"]["sha256"]), ("vocabulary", file["external"]["vocabulary"])]
        if draw.random() < 0.5:
            file["external"]["public_sha256"] = digest()
            fields.append(("external_public", file["external"]["public_sha256"]))
    else:
        for part in range(parts):
            for half in range(halves):
                name = f"members/{part:02}" + ("ab"[half] if halves == 2 else "")
                file["members"].append({"directory": name, "generation": 1, "steps": 4, "complete": True, "recipe_sha256": ""})
                file["file_sha256"][name + "/adapter_model.safetensors"] = digest()
    if contexts:
        found = {"tokens": draw.randrange(16, 5000), "retrieval": draw.choice(["none", "bm25"])}
        fields += [("context_tokens", found["tokens"]), ("retrieval", found["retrieval"])]
        kind = draw.choice(["adapters", "public_keys", None])
        if kind:
            found[kind] = True
            fields.append({"adapters": ("adapters", "read"), "public_keys": ("public_keys", "true")}[kind])
        if draw.random() < 0.5:
            found["template"] = draw.choice(["Read: {record}", "{record}\n--\né"])
            fields.append(("template", found["template"]))
        file["contexts"] = found
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        file["file_sha256"]["public/" + name] = digest()
    for path, sha256 in sorted(file["file_sha256"].items()):
        fields += [("path", path), ("sha256", sha256)]
    text = b"submix ensemble 1\n"
    for name, value in fields:
        value = str(value).encode()
        text += f"{name} {len(value)}:".encode() + value + b"\n"
    return file, hashlib.sha256(text).hexdigest()


with open(HERE / "fingerprints.txt", "w", encoding="utf-8") as out:
    for kind in (deployment, ensemble):
        for _ in range(200):
            made, fingerprint = kind()
            out.write(f"{kind.__name__} {fingerprint} {json.dumps(made, separators=(',', ':'))}\n")
