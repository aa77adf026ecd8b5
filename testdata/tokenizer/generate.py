#!/usr/bin/python3
"""Writes expected.json: what GPT-2's byte-level BPE makes of tricky strings.

An implementation of its own, from the definition (Radford et al. 2019, and the pre-tokeniser's
pattern), in plain Python without packages: no regular expressions, no tables shared with the C++.

    testdata/tokenizer/generate.py GPT2_TOKENIZER_DIRECTORY
"""
import hashlib
import json
import pathlib
import random
import struct
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHITE_SPACE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(c) for c in range(0x2000, 0x200B)
}
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def kind(char):
    if char in WHITE_SPACE:
        return "space"
    category = unicodedata.category(char)[0]
    return {"L": "letter", "N": "number"}.get(category, "other")


def run_end(text, start):
    """The end of the run of characters of one kind that starts at `start`."""
    end = start
    while end < len(text) and kind(text[end]) == kind(text[start]):
        end += 1
    return end


def words(text):
    start = 0
    while start < len(text):
        end = word_end(text, start)
        yield text[start:end]
        start = end


def word_end(text, start):
    for contraction in CONTRACTIONS:
        if text.startswith(contraction, start):
            return start + len(contraction)
    if kind(text[start]) != "space":
        return run_end(text, start)
    if text[start] == " " and start + 1 < len(text) and kind(text[start + 1]) != "space":
        return run_end(text, start + 1)
    end = run_end(text, start)
    # White space before something else leaves its last character to what follows.
    return end - 1 if end < len(text) and end - start > 1 else end


def byte_characters():
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    characters = {byte: chr(byte) for byte in own}
    for byte in range(256):
        if byte not in characters:
            characters[byte] = chr(0x100 + len(characters) - len(own))
    return characters


class Tokenizer:
    def __init__(self, directory):
        self.vocabulary = json.loads((directory / "vocab.json").read_text("utf-8"))
        lines = (directory / "merges.txt").read_text("utf-8").split("\n")
        merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
        self.ranks = {merge: rank for rank, merge in enumerate(merges)}
        self.characters = byte_characters()
        self.cache = {}

    def encode_word(self, word):
        if word not in self.cache:
            self.cache[word] = self.merge(word)
        return self.cache[word]

    def merge(self, word):
        raw = word.encode("utf-8", "surrogateescape")
        parts = [self.characters[byte] for byte in raw]
        while True:
            ranked = [(self.ranks.get(pair, len(self.ranks)), pair) for pair in zip(parts, parts[1:])]
            if not ranked or min(ranked)[0] == len(self.ranks):
                return [self.vocabulary[part] for part in parts]
            best = min(ranked)[1]
            merged, i = [], 0
            while i < len(parts):
                if tuple(parts[i : i + 2]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged

    def encode(self, raw):
        text = raw.decode("utf-8", "surrogateescape")
        return [token for word in words(text) for token in self.encode_word(word)]


def cases():
    source = random.Random(20240229)
    texts = {
        "empty": "",
        "two words": "Hello world",
        "contractions": "I'm sure they're here, he'd've said it's what we'll do; don't 'tis 's 'S I'M",
        "apostrophes": "'' 's's 'll've rock'n'roll dogs' x'y 'really 'most",
        "end of text spelt out": "one<|endoftext|>two <|endoftext|>",
        "runs of spaces": "a  b   c    d     ",
        "leading spaces": "     x",
        "spaces and newlines": "a \n b\n\n\nc \n\n  d\t\te\r\n\r\nf \t g",
        "only white space": " \n\t \r\n  ",
        "vertical tab and form feed": "a\v\fb \v c",
        "no-break spaces": "10\u00a0000\u00a0km \u00a0x\u00a0 y \u202fz",
        "next line, ogham, ideographic space": "a\x85b\u1680c\u3000\u3000d\u2028e\u2029f\u2003g",
        "mongolian vowel separator is no space": "a\u180eb \u180e c",
        "zero-width characters": "a\u200bb\u200dc\ufeffd\u2060e",
        "information separators are no spaces": "a\x1cb \x1dc\x1e \x1f",
        "digits": "1234567890 3.14159 1,000,000 2nd x2 10:30",
        "other numbers": "\u00bd \u00b2 \u2167 \u0663\u0664 \u0967\u0968 \u2460 \u3007",
        "punctuation": "Wait... what?! (really) -- \"yes\" [a]{b} #1 @x $5 50% a/b\\c ~^`|",
        "code": "for (int i=0; i<10; ++i) {\n    x[i] += y->z;  // ok\n}\n",
        "accents": "naïve café Ångström Übergröße œuvre façade",
        "combining marks": "e\u0301a\u0308 n\u0303 \u0301\u0302 cafe\u0301",
        "cyrillic and greek": "Привет, мир! Καλημέρα κόσμε",
        "hebrew and arabic": "שלום עולם مرحبا بالعالم",
        "devanagari and thai": "नमस्ते दुनिया สวัสดีชาวโลก",
        "cjk": "你好，世界。 こんにちは世界 カタカナ 안녕하세요 세계",
        "emoji": "😀 👍🏽 👨‍👩‍👧 🇩🇪 ❤️ ok😀😀",
        "mathematics": "∑ x² ≤ ∞ 𝒜𝓑 ∀ε>0 ∃δ ℝ → ½",
        "letters beyond the basic plane": "𐍈𐌰 𝔘𝔫𝔦 𠜎𠜱",
        "modifier letters and marks": "ʰ ˈa ʻokina ª º",
        "control characters": "\x00\x01\x02 a\x00b \x7f \x1b[0m \x80\x9f",
        "last and unassigned code points": "\U0010ffff \ue000\uffff \U000e0041",
        "a long word": "a" * 300,
        "a long alternation": "ab" * 150 + "ba" * 20,
        "a long word of letters": "".join(source.choice("etaoinshr") for _ in range(500)),
        "long runs": "-" * 200 + " " * 200 + "=" * 77 + "\n" * 90 + "1" * 130 + "!?" * 60,
    }
    raws = {name: text.encode("utf-8") for name, text in texts.items()}
    raws |= {
        "lone continuation bytes": b"a\x80b \xbf\xbf c",
        "bytes that never occur": b"\xc0\xc1\xf5\xff\xfe x\xffy  \xff",
        "overlong forms": b"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf",
        "cut sequences": b"\xe2\x82 \xe2\x82A \xf0\x9f\x98 \xf0\x9f\x98\xc3\xa9 \xc3",
        "encoded surrogates": b"x\xed\xa0\x80y \xed\xbf\xbf",
        "above the last code point": b"\xf4\x90\x80\x80 \xf4\x8f\xbf\xbf",
        "ill-formed bytes among letters and spaces": b"ab\xffcd  \xff  ef \xff1\xff!\xff's \n\xff",
        "latin-1 text": "café déjà vu".encode("latin-1"),
        "all bytes": bytes(range(256)),
        "random bytes": bytes(source.randrange(256) for _ in range(600)),
    }
    return raws


def shakespeare_digest(tokenizer):
    """SHA-256 of all token ids of the bundled corpus, as little-endian 32-bit integers."""
    digest, count = hashlib.sha256(), 0
    with open(ROOT / "data/shakespeare.jsonl", encoding="utf-8") as lines:
        for line in lines:
            ids = tokenizer.encode(json.loads(line)["text"].encode("utf-8"))
            digest.update(struct.pack(f"<{len(ids)}i", *ids))
            count += len(ids)
    return {"num_tokens": count, "sha256": digest.hexdigest()}


def main():
    directories = {"gpt2": pathlib.Path(sys.argv[1]), "base_8k": ROOT / "data/public_model"}
    tokenizers = {name: Tokenizer(directory) for name, directory in directories.items()}
    expected = {
        "shakespeare": {name: shakespeare_digest(t) for name, t in tokenizers.items()},
        "cases": [
            {"name": name, "hex": raw.hex(), **{n: t.encode(raw) for n, t in tokenizers.items()}}
            for name, raw in cases().items()
        ],
    }
    rows = ",\n".join(json.dumps(case) for case in expected["cases"])
    path = pathlib.Path(__file__).with_name("expected.json")
    path.write_text(
        f'{{"shakespeare": {json.dumps(expected["shakespeare"])},\n"cases": [\n{rows}\n]}}\n'
    )


if __name__ == "__main__":
    main()
