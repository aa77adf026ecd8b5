"""Our token ids beside those of Hugging Face's tokenizers and transformers.

    tokenizers_test.py BUILD_DIR SOURCE_DIR

No text of ours becomes a special token, and theirs does. So each file is compared twice: as it is, all of a text a
template's; and with contents of special tokens that no text has, all of a text a person's.
SUBMIX_TOKENIZER_CASES says how many random files are made (3000); SUBMIX_TOKENIZER_MODELS names further models' directories,
with a colon between two.
"""

import copy
import gettext
import glob
import json
import lzma
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import tokenizers

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
FAMILIES = SOURCE / "testdata/tokenizer/families"
ORACLE = SOURCE.parent / "shared/data/oracle/tokenizers"
PEERS = SOURCE / "build/peers"
NUM_CASES = int(os.environ.get("SUBMIX_TOKENIZER_CASES", "3000"))
LANGUAGES = ("de", "fr", "ru", "el", "ar", "he", "hi", "th", "ja", "ko", "zh_CN", "zh_Hans", "vi", "tr")

HOSTILE = [
    "", " ", "  ", "\n", "\n\n\n", "\t", " \t\n x", "a", " a", "a ", "  a  b   c    ", "\r\n\r\n a\r", "\u00a0a\u2003b\u3000c", "\u2581a\u2581\u2581b",
    "\u0000\u0001\u007f", "e\u0301 \u00e9 \u212b \u1e9b\u0323 \uac00\u1100\u1161\u11a8", "\u0344\u0301x\u0323\u0307", "ﬁ ½ ² Ⅷ ٣ 一二三 १२", "👩‍👩‍👧 🇩🇪 🏳️‍🌈 \U0001f9ff", "\u200b\u200d\u200c\ufeff\u180e",
    "don't DON'T we'Ll 'S it\u2019s 're", "1234567890 3.14 1,000,000", "x" * 300, " " * 300, "ab" * 200, "\n" * 50, "<0x0A><0xFF>", "</s><s><unk>", "<|im_start|>user\nx<|im_end|>\n",
    "<|endoftext|><|end_of_text|><bos><eos><pad>", "<think>\n\n</think>", "\ufffd\ufffd", "\U0010ffff\ue000", "\ud7ff\uffff", "İıſß", "#include <a>\n\tint x;\n", "http://x.y/z?q=1&r=%20",
]


def texts_of_languages():
    """About a megabyte: what programs say, in the languages of their translations."""
    texts, room = [], {}
    places = [PEERS / "texts", pathlib.Path("/usr/share/locale"), pathlib.Path("/usr/share/vim")]
    for language in LANGUAGES:
        files = [f for place in places for f in glob.glob(f"{place}/**/{language}/LC_MESSAGES/*.mo", recursive=True)]
        for name in sorted(files):
            if room.setdefault(language, 80000) <= 0:
                break
            with open(name, "rb") as file:
                try:
                    catalogue = gettext.GNUTranslations(file)._catalog
                except (OSError, UnicodeDecodeError, ValueError):
                    continue
            joined = "\n".join(text for text in catalogue.values() if isinstance(text, str))[: room[language]]
            room[language] -= len(joined)
            texts += [joined[i : i + 4000] for i in range(0, len(joined), 4000)]
    lines = (SOURCE / "data/shakespeare.jsonl").read_text(encoding="utf-8").splitlines()
    texts += [json.loads(line)["text"] for line in lines[:20]]
    return texts, sorted(language for language in room if room[language] < 80000)


def alphabet():
    characters, beyond = {}, 256
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            characters[byte] = chr(byte)
        else:
            characters[byte] = chr(beyond)
            beyond += 1
    return characters


ALPHABET = alphabet()


def is_byte_level(file):
    return "ByteLevel" in json.dumps(file["decoder"])


def lacks(file):
    """The bytes that have no entry."""
    vocabulary = file["model"]["vocab"]
    if is_byte_level(file):
        return {byte for byte, spelt in ALPHABET.items() if spelt not in vocabulary}
    return {byte for byte in range(256) if f"<0x{byte:02X}>" not in vocabulary}


def without_special(file, named=()):
    """The same, with special tokens that no text has and no merge makes."""
    file = copy.deepcopy(file)
    special = {token["content"] for token in file["added_tokens"] if token["special"]} | set(named)
    renamed = {content: f"\U000f0000{number}\U000f0001" for number, content in enumerate(sorted(special))}
    for token in file["added_tokens"]:
        token["content"] = renamed.get(token["content"], token["content"])
    model = file["model"]
    model["vocab"] = {renamed.get(piece, piece): number for piece, number in model["vocab"].items()}

    def is_kept(merge):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        return not {left, right, left + right} & special

    model["merges"] = [merge for merge in model["merges"] if is_kept(merge)]
    if model.get("unk_token") in renamed:
        model["unk_token"] = renamed[model["unk_token"]]
    file["post_processor"] = None
    return file


class Ours:
    """One process for all files."""

    def __init__(self):
        self.process = subprocess.Popen([BUILD / "print_token_ids"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, directory, texts):
        question = {"directory": str(directory), "texts": [text.encode("utf-8").hex() for text in texts]}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def theirs(file):
    """A tokenizer of theirs, or None where they refuse the file (they panic on some)."""
    text = file if isinstance(file, str) else json.dumps(file)
    try:
        made = tokenizers.Tokenizer.from_str(text)
        made.no_truncation()
        made.no_padding()
        return made
    except BaseException as error:  # pylint: disable=broad-except
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def ids_of(tokenizer, texts):
    """Their ids of each text, None where they panic: where white space that a token took holds another that takes some."""
    found = []
    for text in texts:
        try:
            found.append(tokenizer.encode(text, add_special_tokens=False).ids)
        except BaseException as error:  # pylint: disable=broad-except
            if isinstance(error, KeyboardInterrupt):
                raise
            found.append(None)
    return found


class TokenizersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours = Ours()
        cls.texts, cls.languages = texts_of_languages()
        cls.counts = {"texts equal": 0, "characters": 0, "files": 0, "files refused by both": 0, "files refused by us": 0,
                      "texts on which they panic": 0}

    @classmethod
    def tearDownClass(cls):
        cls.ours.close()
        print(f"tokenizers: {len(cls.languages)} languages; " + ", ".join(f"{n} {name}" for name, n in cls.counts.items()))

    def write(self, directory, file):
        (pathlib.Path(directory) / "tokenizer.json").write_text(json.dumps(file, ensure_ascii=False), encoding="utf-8")

    def compare(self, directory, file, texts, named=()):
        """`file` is that of `directory`."""
        missing = lacks(file)
        if is_byte_level(file) and missing:
            texts = [text for text in texts if not missing & set(text.encode("utf-8"))]
        answer = self.ours.ask(directory, texts)
        reference = theirs(file)
        if "error" in answer:
            self.counts["files refused by us" if reference else "files refused by both"] += 1
            return answer["error"]
        self.assertIsNotNone(reference, "a file that their library refuses is read")
        self.counts["files"] += 1
        for kind, ids, expected in (
            ("people's", answer["ids"], ids_of(theirs(without_special(file, named)), texts)),
            ("a template's", answer["templated"], ids_of(reference, texts)),
        ):
            for text, one, other in zip(texts, ids, expected):
                if other is None:
                    self.counts["texts on which they panic"] += 1
                    continue
                if one != other:
                    raise AssertionError(f"{directory}: {kind} {text[:200]!r}: {one[:60]}, theirs {other[:60]}\n"
                                         f"{json.dumps(file['added_tokens'][-8:], ensure_ascii=False)}")
                self.counts["texts equal"] += 1
                self.counts["characters"] += len(text)
        return None

    def compare_published(self, path):
        def content_of(name):
            packed = path / (name + ".xz")
            if packed.exists():
                return lzma.open(packed).read()
            return (path / name).read_bytes() if (path / name).exists() else b"{}"

        with tempfile.TemporaryDirectory() as directory:
            for name in ("tokenizer.json", "tokenizer_config.json"):
                (pathlib.Path(directory) / name).write_bytes(content_of(name))
            config = json.loads(content_of("tokenizer_config.json"))
            named = [value for field, value in config.items() if field.endswith("_token") and value and value is not True]
            named += config.get("additional_special_tokens") or []
            named = {name if isinstance(name, str) else name["content"] for name in named}
            self.assertIsNone(self.compare(directory, json.loads(content_of("tokenizer.json")), HOSTILE + self.texts, named))

    def test_published(self):
        paths = sorted(FAMILIES.iterdir()) + (sorted(ORACLE.iterdir()) if ORACLE.exists() else [])
        paths += [pathlib.Path(each) for each in os.environ.get("SUBMIX_TOKENIZER_MODELS", "").split(":") if each]
        for path in paths:
            with self.subTest(path=path.name):
                self.compare_published(path)

    def test_random_added_tokens(self):
        files = {path.name: json.loads((path / "tokenizer.json").read_text(encoding="utf-8")) for path in sorted(FAMILIES.iterdir())}
        reasons = {}
        with tempfile.TemporaryDirectory() as directory:
            for number in range(NUM_CASES):
                rng = random.Random(number)
                file = perturbed(copy.deepcopy(files[rng.choice(sorted(files))]), rng)
                self.write(directory, file)
                contents = [token["content"] for token in file["added_tokens"]]
                texts = [random_text(contents, rng) for _ in range(12)]
                with self.subTest(number=number):
                    error = self.compare(directory, file, texts)
                    if error:
                        reason = error.split('": ', 2)[-1]
                        reasons[reason[:60]] = reasons.get(reason[:60], 0) + 1
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1])[:8]:
            print(f"tokenizers: refused {count}: {reason}")


PARTS = [" ", "  ", "\n", "\t", "\u00a0", "a", "b", "the", "The", "cat", "at", "<", ">", "<x>", "</x>", "_", "-", "é", "e\u0301", "\u0301", "\u2581", "ﬁ", "Å", "\u212b",
         "你", "好", "👩", "\u200d", "9", "٣", "²", "'s", "Ⅷ", "ⓐ", "\u0323", ".", "ing"]


def perturbed(file, rng):
    vocabulary = file["model"]["vocab"]
    taken = {token["content"] for token in file["added_tokens"]}
    beside = sum(content not in vocabulary for content in taken)
    pieces = sorted(vocabulary)
    for token in file["added_tokens"]:
        for flag in ("lstrip", "rstrip", "single_word", "normalized"):
            if rng.random() < 0.1 and not (flag == "single_word" and token["special"]):
                token[flag] = not token[flag]
    for _ in range(rng.randint(1, 8)):
        content = rng.choice(pieces) if rng.random() < 0.2 else "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 4)))
        if content in taken:
            continue
        taken.add(content)
        number = vocabulary[content] if content in vocabulary else len(vocabulary) + beside
        if content not in vocabulary:
            beside += 1
            if rng.random() < 0.01:
                number += 1
        flags = {flag: rng.random() < 0.3 for flag in ("single_word", "lstrip", "rstrip", "normalized")}
        # Merges make none that is special, though their library lets them where single_word hides it.
        special = content not in vocabulary and rng.random() < 0.3
        file["added_tokens"].append({"id": number, "content": content, **flags, "special": special})
    if rng.random() < 0.2:
        file["model"]["ignore_merges"] = is_byte_level(file) and rng.random() < 0.5
    if rng.random() < 0.2:
        file["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    return file


def random_text(contents, rng):
    parts = []
    for _ in range(rng.randint(0, 14)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(contents))
        elif kind < 0.9:
            parts.append(rng.choice(PARTS))
        else:
            parts.append(chr(rng.choice([rng.randint(32, 126), rng.randint(0xA0, 0x2FF), rng.randint(0x300, 0x36F), rng.randint(0x4E00, 0x4FFF)])))
    return "".join(parts)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
