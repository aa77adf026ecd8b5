#!/usr/bin/python3
"""Writes families/NAME/tokenizer.json, small tokenizers of the families' kinds, and families.json:
what they make of tricky strings.

The pieces are learnt here from the bundled corpus. Text becomes ids by an implementation of its
own, from the definitions of the format, in plain Python without packages: no regular expressions,
one merge at a time.

    testdata/tokenizer/families.py
"""
import json
import pathlib
import unicodedata
from collections import Counter

from generate import ROOT, byte_characters, cases, kind, run_end, words

HERE = pathlib.Path(__file__).parent
NUM_MERGES = 150
SPACE = "\u2581"


# --- Words


def contraction_end(text, start):
    for ending in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
        if text[start : start + len(ending)].casefold() == ending:
            return start + len(ending)
    return None


def modern_word_end(text, start, most_digits):
    """Llama 3's and Qwen's pattern: contractions, letters with one other character before, up to
    `most_digits` numbers, other characters with line ends behind, white space."""
    end = contraction_end(text, start)
    if end is not None:
        return end
    char, following = text[start], text[start + 1 : start + 2]
    if kind(char) == "letter":
        return run_end(text, start)
    if kind(char) != "number" and char not in "\r\n" and following and kind(following) == "letter":
        return run_end(text, start + 1)
    if kind(char) == "number":
        return min(run_end(text, start), start + most_digits)
    other = start + 1 if char == " " and following and kind(following) == "other" else start
    if kind(text[other]) == "other":
        end = run_end(text, other)
        while end < len(text) and text[end] in "\r\n":
            end += 1
        return end
    end = run_end(text, start)
    line_ends = [i for i in range(start, end) if text[i] in "\r\n"]
    if line_ends:
        return line_ends[-1] + 1
    return end - 1 if end < len(text) and end - start > 1 else end


def modern_words(text, most_digits):
    start = 0
    while start < len(text):
        end = modern_word_end(text, start, most_digits)
        yield text[start:end]
        start = end


def digits_apart(text):
    piece = ""
    for char in text:
        if unicodedata.category(char)[0] == "N":
            yield from [piece] if piece else []
            yield char
            piece = ""
        else:
            piece += char
    yield from [piece] if piece else []


def marks_with_next(text):
    """Cuts before every SPACE."""
    piece = ""
    for char in text:
        if char == SPACE and piece:
            yield piece
            piece = ""
        piece += char
    yield from [piece] if piece else []


# --- Merges


def symbols_of(text, spec):
    """The characters of a word as the vocabulary spells them, before any merge."""
    if spec["byte_level"]:
        return [CHARACTERS[byte] for byte in text.encode("utf-8", "surrogateescape")]
    symbols = []
    for char in text:
        if char in spec["vocabulary"] or not spec["vocabulary"]:
            symbols.append(char)
        else:
            symbols += [f"<0x{byte:02X}>" for byte in char.encode("utf-8", "surrogateescape")]
    return symbols


def merged(parts, ranks):
    """One merge after the other: the lowest rank, the leftmost of them."""
    parts = list(parts)
    while True:
        ranked = [(ranks[pair], i) for i, pair in enumerate(zip(parts, parts[1:])) if pair in ranks]
        if not ranked:
            return parts
        at = min(ranked)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def learn_merges(counts, num_merges):
    words_left = {word: list(word) for word in counts}
    merges = []
    while len(merges) < num_merges:
        pairs = Counter()
        for word, parts in words_left.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += counts[word]
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word, parts in words_left.items():
            words_left[word] = merged_once(parts, best)
    return merges


def merged_once(parts, pair):
    result, i = [], 0
    while i < len(parts):
        both = tuple(parts[i : i + 2]) == pair
        result.append(parts[i] + parts[i + 1] if both else parts[i])
        i += 2 if both else 1
    return result


# --- Text to ids and back


def composed(text):
    """NFC. Bytes that are not UTF-8 are lone surrogates here, which it leaves alone."""
    return unicodedata.normalize("NFC", text)


def cut_literals(text, literals):
    """(text, None) and (content, id) in turn: the longest literal entry wherever one begins."""
    start = position = 0
    while position < len(text):
        found = [content for content in literals if text.startswith(content, position)]
        if not found:
            position += 1
            continue
        longest = max(found, key=len)
        yield text[start:position], None
        yield longest, literals[longest]
        start = position = position + len(longest)
    yield text[start:], None


def encode(raw, spec):
    ids = []
    text = raw.decode("utf-8", "surrogateescape")
    at_start = True
    for piece, literal in cut_literals(text, spec["literals"]):
        if literal is not None:
            ids.append(literal)
        else:
            for word in spec["words"](piece, at_start) if piece else []:
                ids += word_ids(word, spec)
        at_start = at_start and not piece
    return ids


def word_ids(word, spec):
    symbols = symbols_of(word, spec)
    if spec["ignore_merges"] and "".join(symbols) in spec["vocabulary"]:
        return [spec["vocabulary"]["".join(symbols)]]
    return [spec["vocabulary"][part] for part in merged(symbols, spec["ranks"])]


# --- The families

CHARACTERS = byte_characters()


def corpus():
    with open(ROOT / "data/shakespeare.jsonl", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return "\n".join(texts)[:60000]


def added(contents, first_id, special=True):
    return [
        {"id": first_id + i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": special}
        for i, content in enumerate(contents)
    ]


def byte_level_parts(cut, extra=()):
    counts = Counter(cut(corpus()))
    spelt = Counter()
    for word, count in counts.items():
        spelt[tuple(CHARACTERS[byte] for byte in word.encode())] += count
    merges = learn_merges(spelt, NUM_MERGES)
    pieces = sorted(CHARACTERS.values()) + [left + right for left, right in merges]
    pieces += ["".join(CHARACTERS[byte] for byte in word.encode()) for word in extra]
    return list(dict.fromkeys(pieces)), merges


def character_parts(cut, leading):
    counts = Counter(tuple(word) for word in cut(corpus().replace(" ", SPACE)))
    merges = learn_merges(counts, NUM_MERGES)
    characters = sorted({char for word in counts for char in word} | {SPACE, "é", "你"})
    pieces = leading + [f"<0x{byte:02X}>" for byte in range(256)] + characters
    pieces += [left + right for left, right in merges]
    return list(dict.fromkeys(pieces)), merges


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, **options}


def split(pattern, behavior="Isolated"):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": False}


def replace(before, after):
    return {"type": "Replace", "pattern": {"String": before}, "content": after}


def sequence(name, *parts):
    return {"type": "Sequence", name: list(parts)}


def modern_pattern(numbers):
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + numbers +
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def bos_template(content, token):
    return {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": content, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {content: {"id": content, "ids": [token], "tokens": [content]}},
    }


def file_of(pieces, merges, added_tokens, as_pairs=True, **parts):
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        **parts.pop("model", {}),
        "vocab": {piece: i for i, piece in enumerate(pieces)},
        "merges": [list(merge) if as_pairs else " ".join(merge) for merge in merges],
    }
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens,
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, **parts, "model": model}


def llama3():
    pieces, merges = byte_level_parts(lambda text: modern_words(text, 3), [" unmergeable"])
    markers = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    begin = len(pieces)
    return file_of(
        pieces, merges, added(markers, begin), as_pairs=False,
        pre_tokenizer=sequence("pretokenizers", split({"Regex": modern_pattern(r"\p{N}{1,3}")}),
                               byte_level(use_regex=False)),
        post_processor=sequence("processors", byte_level(), bos_template(markers[0], begin)),
        decoder=byte_level(), model={"ignore_merges": True},
    ), lambda text, _: modern_words(text, 3)


def qwen3():
    pieces, merges = byte_level_parts(lambda text: modern_words(text, 1))
    begin = len(pieces)
    tokens = added(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], begin)
    tokens += added(["<think>", "</think>"], begin + 3, special=False)
    return file_of(
        pieces, merges, tokens,
        normalizer={"type": "NFC"},
        pre_tokenizer=sequence("pretokenizers", split({"Regex": modern_pattern(r"\p{N}")}),
                               byte_level(use_regex=False)),
        post_processor=byte_level(), decoder=byte_level(),
        model={"continuing_subword_prefix": "", "end_of_word_suffix": ""},
    ), lambda text, _: modern_words(composed(text), 1)


def smollm2():
    def cut(text):
        return [word for piece in digits_apart(text) for word in words(piece)]

    markers = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    pieces, merges = byte_level_parts(cut)
    return file_of(
        markers + pieces, merges, added(markers, 0), as_pairs=False,
        pre_tokenizer=sequence("pretokenizers", {"type": "Digits", "individual_digits": True},
                               byte_level(use_regex=True)),
        decoder=byte_level(), model={"unk_token": "<|endoftext|>"},
    ), lambda text, _: cut(text)


FALLBACK = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
SPACES_BACK = [replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
ONE_STRIPPED = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def llama2():
    markers = ["<unk>", "<s>", "</s>"]
    pieces, merges = character_parts(lambda text: marks_with_next(SPACE + text), markers)
    return file_of(
        pieces, merges, added(markers, 0), as_pairs=False,
        normalizer=sequence("normalizers", {"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE)),
        post_processor=bos_template("<s>", 1),
        decoder=sequence("decoders", *SPACES_BACK, ONE_STRIPPED), model=FALLBACK,
    ), lambda text, _: [SPACE + text.replace(" ", SPACE)]


def mistral():
    """Metaspace instead of the normalizers."""
    file, _ = llama2()
    file["normalizer"] = None
    file["pre_tokenizer"] = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": False}

    def cut(text, at_start):
        text = text.replace(" ", SPACE)
        return [SPACE + text if at_start and not text.startswith(SPACE) else text]

    return file, cut


def metaspace():
    """Words cut at the spaces; the decoder drops all those of the first piece."""
    file, _ = llama2()
    rule = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    file["normalizer"] = None
    file["pre_tokenizer"] = rule
    file["decoder"] = sequence("decoders", rule, {"type": "ByteFallback"}, {"type": "Fuse"})

    def cut(text, _):
        text = text.replace(" ", SPACE)
        return marks_with_next(text if text.startswith(SPACE) else SPACE + text)

    return file, cut


def gemma3():
    markers = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    literals = ["\n", "\n\n", "\n\n\n", "<b>", "</b>", SPACE * 2]
    pieces, merges = character_parts(lambda text: marks_with_next(text.replace("\n", SPACE)), markers + literals)
    merges = [("\n", "\n")] + merges
    tokens = added(markers, 0) + added(literals, len(markers), special=False)
    tokens += added(["<image_soft_token>"], len(pieces))
    return file_of(
        pieces, merges, tokens, normalizer=replace(" ", SPACE),
        pre_tokenizer=split({"String": " "}, "MergedWithPrevious"),
        post_processor=bos_template("<bos>", 2),
        decoder=sequence("decoders", *SPACES_BACK), model=FALLBACK,
    ), lambda text, _: [text.replace(" ", SPACE)]


FAMILIES = {f.__name__: f for f in (llama3, qwen3, smollm2, llama2, mistral, metaspace, gemma3)}


def spec_of(file, cut):
    vocabulary = file["model"]["vocab"]
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in file["model"]["merges"]]
    return {
        "byte_level": not file["model"]["byte_fallback"],
        "ignore_merges": file["model"]["ignore_merges"],
        "vocabulary": vocabulary,
        "literals": {t["content"]: t["id"] for t in file["added_tokens"] if not t["special"]},
        "words": cut,
        "ranks": {merge: rank for rank, merge in enumerate(merges)},
    }


def family_cases():
    texts = {name: raw for name, raw in cases().items() if len(raw) < 200}
    more = {
        "modern contractions": "I'LL we'Ve 'S'm it'\u017f 'Re",
        "lines": "a\n\n\n\nb\r\n\r\n c \n \n  d!\n\n?\r\n\t\n x",
        "numbers in threes": "1234567 12 3.14159 \u0663\u0664\u0665\u0666 x12y",
        "a whole word": " unmergeable unmergeable",
        "spaces spelt out": "\u2581a\u2581\u2581b \u2581 c",
        "markers": "<|begin_of_text|><|im_start|>user\n<think></think><s></s> <bos><start_of_turn><unk><pad>",
        "tags": "<b>bold</b> <b><b </b",
        "bytes spelt out": "<0x41><0x0A> <0xff>",
        "composition": "e\u0301 a\u0323\u0302 A\u030a \u212b \uac00 \u1100\u1161\u11a8 q\u0307\u0323 \u0344 x\u0301",
        "composition beside bad bytes": "e\u0301",
        "one space": " ",
        "one character": "x",
    }
    texts |= {name: text.encode() for name, text in more.items()}
    texts["composition beside bad bytes"] = "e\u0301".encode() + b"\xff\xcc" + "e\u0301".encode() + b"\xcc"
    return texts


def main():
    rows = {name: {"name": name, "hex": raw.hex()} for name, raw in family_cases().items()}
    for family, make in FAMILIES.items():
        file, cut = make()
        folder = HERE / "families" / family
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(json.dumps(file, ensure_ascii=False) + "\n", "utf-8")
        spec = spec_of(file, cut)
        for name, raw in family_cases().items():
            rows[name][family] = encode(raw, spec)
    text = ",\n".join(json.dumps(row) for row in rows.values())
    (HERE / "families.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
