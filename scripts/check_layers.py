#!/usr/bin/env python3
"""Holds the code to its floor plan (docs/architecture.md). Run by ctest, label `layering`.

    scripts/check_layers.py [--root DIR]

Exit code 0 if nothing is broken, 1 if something is: one line each, `file:line: what; the fix`.
Sizes are reported, never refused: growth is a decision.

Every rule is a function `tree -> findings`, listed in RULES, with a broken tree of its own in
check_layers_test.py.
"""

import argparse
import functools
import pathlib
import re
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

# What each room may include besides itself. Privacy code knows no language model, language-model
# code knows no privacy; they meet in `engine`, and in the private-training files of `train`.
MAY_INCLUDE: Dict[str, Set[str]] = {
    "base": set(),
    "divergence": {"base"},
    "accounting": {"base", "divergence"},
    "mechanism": {"base", "divergence", "accounting"},
    "ledger": {"base", "accounting"},
    "tokenizer": {"base"},
    "shape": {"base"},
    "model": {"base"},
    "corpus": {"base", "tokenizer", "chat"},
    "ensemble": {"base", "model"},
    "decode": {"base", "model", "ensemble"},
    "contexts": {"base", "model", "tokenizer", "corpus", "ensemble", "decode"},
    "external": {"base", "model", "ensemble"},
    "engine": {"base", "divergence", "accounting", "mechanism", "mechanism/baselines", "mechanism/declaring",
               "ledger", "tokenizer", "shape", "ensemble"},
    "workbench": {"base", "divergence", "accounting", "mechanism", "mechanism/declaring", "ledger",
                  "tokenizer", "shape", "model", "ensemble", "engine"},
    "python": {"base", "divergence", "accounting", "accounting/calculators", "mechanism",
               "mechanism/declaring", "ledger", "shape", "model", "decode", "tokenizer", "corpus", "ensemble",
               "ensemble/preparation", "engine", "workbench", "workbench/ensembles", "eval/audits", "train/recipes",
               "train/sampled_gaussian"},
    "jinja": {"base"},
    "chat": {"base", "jinja", "tokenizer"},
    "server": {"base", "shape", "engine", "chat"},
}
# Rooms within a folder: what several of them share, then one thing each.
# Neither what is not proven nor what only calculates is known to what answers: programs hand
# research mechanisms to the engine.
MAY_INCLUDE["accounting/calculators"] = {"base", "divergence", "accounting"}
MAY_INCLUDE["mechanism/kernels"] = {"base"}
MAY_INCLUDE["mechanism"].add("mechanism/kernels")
MAY_INCLUDE["mechanism/baselines"] = MAY_INCLUDE["mechanism"] | {"mechanism"}
MAY_INCLUDE["mechanism/declaring"] = MAY_INCLUDE["mechanism/baselines"] | {"mechanism/baselines"}
MAY_INCLUDE["mechanism/research"] = (MAY_INCLUDE["mechanism/declaring"]
                                     | {"mechanism/declaring", "accounting/calculators"})
MAY_INCLUDE["ensemble/preparation"] = {"base", "model", "tokenizer", "corpus", "ensemble"}
MAY_INCLUDE["workbench/ensembles"] = (MAY_INCLUDE["workbench"]
                                      | {"workbench", "corpus", "ensemble/preparation", "decode", "contexts"})
MAY_INCLUDE["workbench/models"] = (MAY_INCLUDE["workbench"]
                                   | {"workbench", "ensemble/preparation", "decode", "contexts", "external"})
MAY_INCLUDE["workbench/synthesis"] = MAY_INCLUDE["workbench"] | {"workbench", "workbench/models", "chat", "corpus"}
_TRAIN = MAY_INCLUDE["ensemble/preparation"] | {"ensemble/preparation"}
MAY_INCLUDE["train/kernels"] = {"base"}
MAY_INCLUDE["train/recipes"] = _TRAIN
MAY_INCLUDE["train/sampled_gaussian"] = {"base", "divergence", "accounting", "accounting/calculators", "ledger", "train/kernels"}
MAY_INCLUDE["train/numerics"] = {"base", "model", "train/kernels", "train/recipes"}
MAY_INCLUDE["train/models"] = _TRAIN | {"train/kernels", "train/recipes", "train/numerics"}
MAY_INCLUDE["train/fine_tuning"] = MAY_INCLUDE["train/models"] | {"train/models"}
MAY_INCLUDE["train/private_training"] = (MAY_INCLUDE["train/fine_tuning"]
                                         | {"train/fine_tuning", "train/sampled_gaussian", "accounting",
                                            "accounting/calculators", "ledger"})
MAY_INCLUDE["train/federated"] = MAY_INCLUDE["train/private_training"] | {"train/private_training"}
_EVAL = {room for room in MAY_INCLUDE if not room.startswith("train/")} - {"chat", "jinja", "python", "server", "workbench", "workbench/ensembles", "workbench/models", "workbench/synthesis"}
MAY_INCLUDE["eval/pages"] = {"base", "accounting", "engine", "ensemble", "ledger"}
MAY_INCLUDE["eval/measuring"] = _EVAL
MAY_INCLUDE["eval/attacks"] = _EVAL | {"eval/measuring"}
MAY_INCLUDE["eval/audits"] = _EVAL | {"eval/measuring"}
MAY_INCLUDE["eval/figures"] = _EVAL | {"eval/measuring", "eval/pages"}
MAY_INCLUDE["workbench/attacking"] = (MAY_INCLUDE["workbench/models"]
                                      | {"workbench/models", "corpus", "mechanism/research", "eval/measuring",
                                         "eval/attacks", "eval/audits"})
# What trains, attacks and measures, put together as commands ask for it.
MAY_INCLUDE["workbench/training"] = (MAY_INCLUDE["workbench/models"]
                                     | {"workbench/models", "corpus", "accounting/calculators", "eval/measuring",
                                        "eval/attacks", "eval/audits"}
                                     | {room for room in MAY_INCLUDE if room.startswith("train/")})
MAY_INCLUDE["workbench/papers"] = (MAY_INCLUDE["workbench/training"]
                                   | {"accounting/calculators", "eval/figures", "eval/pages"})
_APPS = set(MAY_INCLUDE) | {"apps"}
MAY_INCLUDE["apps"] = {"base", "divergence", "accounting"}
MAY_INCLUDE["apps/serving"] = _APPS
MAY_INCLUDE["apps/measuring"] = _APPS | {"apps/serving"}
MAY_INCLUDE["apps/attacking"] = _APPS | {"apps/serving", "apps/measuring"}
MAY_INCLUDE["apps/training"] = _APPS | {"apps/serving", "apps/measuring"}
MAY_INCLUDE["apps/figures"] = _APPS | {"apps/serving", "apps/measuring", "apps/training"}
MAY_INCLUDE["apps/programs"] = set(MAY_INCLUDE)
# What a room's tests may include besides: other counts of the same thing.
TESTS_MAY_INCLUDE = {
    "mechanism/kernels": {"mechanism"},
    "mechanism/baselines": {"accounting/calculators"},
    "engine": {"mechanism/research"},
}
MAY_THROW = "submix/python/raise_status.cc"  # what Python's callers see
MAX_ROOM_FILES = 45  # without tests: what fits into a head

# Folders beside submix/ that may include every room.
OUTER_FOLDERS = ("tests", "benchmarks", "examples", "fuzz")


class Restriction(NamedTuple):
    header: str
    only_in: Tuple[str, ...]  # path prefixes; empty = everywhere but `never_in`
    never_in: Tuple[str, ...]
    reason: str


RESTRICTED_HEADERS = (
    Restriction("submix/ledger/receipt_press.h", ("submix/ledger/",), (),
                "only a ledger makes receipts"),
    Restriction("submix/mechanism/operator_view.h", (), ("submix/engine/", "submix/server/"),
                "serving code never reads a mixture without paying"),
    Restriction("submix/base/chacha_random_source.h", ("submix/base/",), (),
                "products draw from MakeSystemRandomSource, tests from SeededRandom"),
    Restriction("submix/base/repeatable_random.h", ("submix/base/", "submix/eval/"), (),
                "only the operator's simulations may draw the same twice"),
)
# A friend's name is a door: a class of this name defined elsewhere would open it.
RESTRICTED_CLASSES = {
    "ReceiptPress": "submix/ledger/receipt_press.h",
    "OperatorView": "submix/mechanism/operator_view.h",
}

TORCH_HEADER = re.compile(r"^(torch|ATen|c10|caffe2)/")
NAMES_WITHOUT_A_CONCEPT = {"util", "utils", "common", "helper", "helpers", "misc"}
FILE_NAME = re.compile(r"^[a-z0-9]+(_[a-z0-9]+)*\.(h|cc|cu)$")
PRINT_OR_EXIT = re.compile(
    r"\b(?:v?f?printf|f?puts|putchar|abort|exit|quick_exit)\s*\(|\bstd::(?:cout|cerr|clog)\b")
MAY_PRINT_OR_EXIT = {"submix/base/check.cc", "submix/base/progress_bar.cc"}
UNSAFE_FLAG = re.compile(r"-ffast-math\b|-Ofast\b|-march=native\b|-funsafe-math-optimizations\b")
MAX_SOURCE_LINES = 500
MAX_HEADER_LINES = 250

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Comments, string literals and character literals, as one left-to-right scan must see them.
LEXEME = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'",
    re.DOTALL)


class Finding(NamedTuple):
    path: str
    line: int  # 0: the whole file
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


class Include(NamedTuple):
    line: int
    quoted: bool
    target: str


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def room_of(path: str) -> str:
    """The room of submix/a/b/file.h: a/b where that is a room, else a."""
    pieces = path.split("/")
    nested = "/".join(pieces[1:3])
    return nested if nested in MAY_INCLUDE else pieces[1]


class SourceFile:
    """A .h, .cc or .cu file; `path` is relative to the root, with forward slashes."""

    def __init__(self, root: pathlib.Path, path: pathlib.Path):
        self.path = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        pieces = self.path.split("/")
        self.room = room_of(self.path) if pieces[0] == "submix" and len(pieces) > 2 else None
        self.is_header = path.suffix == ".h"
        self.is_test_code = (path.stem.endswith(("_test", "_benchmark")) or "testing" in pieces[:-1]
                             or pieces[0] in OUTER_FOLDERS)

    @functools.cached_property
    def code(self) -> str:
        """The text with comments and literals blanked out, line by line as before."""
        return LEXEME.sub(lambda match: _blank(match.group()), self.text)

    @functools.cached_property
    def includes(self) -> List[Include]:
        without_comments = LEXEME.sub(
            lambda m: _blank(m.group()) if m.group().startswith("/") else m.group(), self.text)
        found = []
        for number, line in enumerate(without_comments.splitlines(), start=1):
            match = INCLUDE.match(line)
            if match:
                found.append(Include(number, match.group(1) == '"', match.group(2)))
        return found

    def matches(self, pattern: "re.Pattern[str]") -> Iterator[Tuple[int, str]]:
        for match in pattern.finditer(self.code):
            yield self.code.count("\n", 0, match.start()) + 1, match.group().strip()


class Tree:
    """The sources and CMake files under a root."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.sources: List[SourceFile] = []
        self.cmake: Dict[str, str] = {}  # path → text without comments
        for folder in ("submix",) + OUTER_FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in (".h", ".cc", ".cu") and path.is_file():
                    self.sources.append(SourceFile(root, path))
        self.by_path = {source.path: source for source in self.sources}
        for path in self._cmake_files():
            text = path.read_text(encoding="utf-8")
            if path.suffix != ".json":
                text = re.sub(r"#[^\n]*", "", text)
            self.cmake[path.relative_to(root).as_posix()] = text

    def _cmake_files(self) -> Iterator[pathlib.Path]:
        for name in ("CMakeLists.txt", "CMakePresets.json"):
            if (self.root / name).is_file():
                yield self.root / name
        for folder in ("submix", "cmake") + OUTER_FOLDERS:
            for pattern in ("CMakeLists.txt", "*.cmake", "*.cmake.in"):
                yield from sorted((self.root / folder).rglob(pattern))

    def lists(self, source: SourceFile) -> bool:
        """Whether the CMakeLists.txt of the file's folder, or of one above it, names the file."""
        path = pathlib.PurePosixPath(source.path)
        for folder in path.parents:
            text = self.cmake.get((folder / "CMakeLists.txt").as_posix())
            if text and path.relative_to(folder).as_posix() in re.split(r'[\s()"]+', text):
                return True
        return False


def check_floor_plan(tree: Tree) -> Iterator[Finding]:
    """Each room includes only what the plan allows, by full path."""
    for source in tree.sources:
        if source.path.startswith("submix/") and source.room not in MAY_INCLUDE:
            yield Finding(source.path, 0, f"no such room in the floor plan: {source.room or '-'}; "
                                          "move the file, or add the room to check_layers.py and "
                                          "docs/architecture.md")
            continue
        for include in source.includes:
            yield from _check_include(source, include)


def _check_include(source: SourceFile, include: Include) -> Iterator[Finding]:
    is_ours = include.target.startswith("submix/")
    if is_ours and not include.quoted:
        yield Finding(source.path, include.line, f'<{include.target}>: our headers go in quotes')
    if include.quoted and not is_ours and source.room:
        yield Finding(source.path, include.line,
                      f'"{include.target}": quotes are for full paths from submix/; '
                      "third-party headers go in <>")
    if not is_ours:
        return
    target_room = room_of(include.target)
    if target_room not in MAY_INCLUDE:
        yield Finding(source.path, include.line, f'"{include.target}": no such room')
    elif (source.room and target_room != source.room
          and target_room not in _allowed_rooms(source)):
        allowed = ", ".join(sorted(_allowed_rooms(source))) or "nothing"
        yield Finding(source.path, include.line,
                      f'"{include.target}": {source.room} may not include {target_room} '
                      f"(it may include {allowed})")
    if include.target.startswith("submix/base/testing/") and not source.is_test_code:
        yield Finding(source.path, include.line,
                      f'"{include.target}": test doubles stay out of products')


def _allowed_rooms(source: SourceFile) -> Set[str]:
    of_tests = TESTS_MAY_INCLUDE.get(source.room, set()) if source.is_test_code else set()
    return MAY_INCLUDE[source.room] | of_tests


def _cycles(graph: Dict[str, Set[str]]) -> Iterator[List[str]]:
    """One cycle for every back edge of a depth-first walk, without recursion."""
    state: Dict[str, int] = {}  # 1: on the path, 2: done
    for start in sorted(graph):
        if start in state:
            continue
        path = [start]
        state[start] = 1
        pending = [iter(sorted(graph[start]))]
        while pending:
            following = next(pending[-1], None)
            if following is None:
                state[path.pop()] = 2
                pending.pop()
            elif state.get(following) == 1:
                yield path[path.index(following):] + [following]
            elif following in graph and following not in state:
                state[following] = 1
                path.append(following)
                pending.append(iter(sorted(graph[following])))


def check_cycles(tree: Tree) -> Iterator[Finding]:
    """No include cycle between files, none between rooms."""
    files = {source.path: {include.target for include in source.includes}
             for source in tree.sources}
    rooms: Dict[str, Set[str]] = {}
    for source in tree.sources:
        if source.room and not source.is_test_code:
            rooms.setdefault(source.room, set()).update(
                room_of(include.target) for include in source.includes
                if include.target.startswith("submix/")
                and room_of(include.target) != source.room)
    for cycle in _cycles(files):
        yield Finding(cycle[0], 0, "include cycle: " + " -> ".join(cycle))
    for cycle in _cycles(rooms):
        yield Finding(f"submix/{cycle[0]}", 0, "cycle of rooms: " + " -> ".join(cycle))


def check_restricted_headers(tree: Tree) -> Iterator[Finding]:
    """Headers that open a door are included, directly or not, only where the door belongs."""
    for source in tree.sources:
        reachable = _reachable(tree, source)
        for rule in RESTRICTED_HEADERS:
            outside = bool(rule.only_in) and not source.path.startswith(rule.only_in)
            inside = bool(rule.never_in) and source.path.startswith(rule.never_in)
            direct = [i.line for i in source.includes if i.target == rule.header]
            if direct and (outside or inside):
                yield Finding(source.path, direct[0], f'"{rule.header}" is not for here: '
                                                      f"{rule.reason}")
            elif inside and rule.header in reachable:
                yield Finding(source.path, 0, f'reaches "{rule.header}" through its includes: '
                                              f"{rule.reason}")
        for name, home in RESTRICTED_CLASSES.items():
            definition = re.compile(rf"\b(?:class|struct)\s+{name}\b[^;{{]*{{")
            for line, _ in source.matches(definition):
                if source.path != home:
                    yield Finding(source.path, line, f"{name} is defined in {home} only: it is a "
                                                     "friend of sealed classes")


def _reachable(tree: Tree, source: SourceFile) -> Set[str]:
    seen: Set[str] = set()
    pending = [source.path]
    while pending:
        current = tree.by_path.get(pending.pop())
        for include in current.includes if current else ():
            if include.target not in seen:
                seen.add(include.target)
                pending.append(include.target)
    return seen


def check_torch_stays_in_train(tree: Tree) -> Iterator[Finding]:
    """libtorch's headers are met in submix/train alone, and in what measures it."""
    for source in tree.sources:
        for include in source.includes:
            if (TORCH_HEADER.match(include.target)
                    and not source.path.startswith(("submix/train/", "benchmarks/"))):
                yield Finding(source.path, include.line,
                              f"<{include.target}>: libtorch stays in submix/train")


def check_names(tree: Tree) -> Iterator[Finding]:
    """snake_case files, named after the concept they hold."""
    for source in tree.sources:
        pieces = source.path.split("/")
        if not FILE_NAME.match(pieces[-1]):
            yield Finding(source.path, 0, "file names are snake_case")
        words = {word for piece in pieces for word in pathlib.PurePath(piece).stem.split("_")}
        for word in sorted(words & NAMES_WITHOUT_A_CONCEPT):
            yield Finding(source.path, 0, f'"{word}" names no concept; name the file after the one '
                                          "it holds")


def check_everything_is_built(tree: Tree) -> Iterator[Finding]:
    """What is on disk is in a CMakeLists.txt: above all, every test."""
    for source in tree.sources:
        stem = pathlib.PurePath(source.path).stem
        is_program = stem.endswith(("_test", "_benchmark"))
        # A library lists its headers: each is then compiled alone. Programs and doubles need not.
        is_local_header = source.is_header and (source.path.startswith("submix/apps/")
                                                or "/testing/" in source.path)
        if (source.room or is_program) and not is_local_header and not tree.lists(source):
            yield Finding(source.path, 0, "no CMakeLists.txt lists this file, so nothing builds it")


def check_libraries_neither_print_nor_exit(tree: Tree) -> Iterator[Finding]:
    """Libraries report by Status and base/log.h; only apps print and end the process."""
    for source in tree.sources:
        if (not source.room or source.path.startswith("submix/apps/") or source.is_test_code
                or source.path in MAY_PRINT_OR_EXIT):
            continue
        for line, text in source.matches(PRINT_OR_EXIT):
            yield Finding(source.path, line, f"{text.rstrip('( ')}: libraries return a Status or "
                                             "say a line to base/log.h")


def check_no_exceptions_of_ours(tree: Tree) -> Iterator[Finding]:
    """Rooms return Status; exceptions are third-party code's."""
    for source in tree.sources:
        if source.room and not source.is_test_code and source.path != MAY_THROW:
            for line, _ in source.matches(re.compile(r"\bthrow\b")):
                yield Finding(source.path, line, "throw: return a Status")


def check_headers(tree: Tree) -> Iterator[Finding]:
    """Headers include once and leave the reader's namespaces alone."""
    for source in tree.sources:
        if not source.is_header:
            continue
        if not re.search(r"^#pragma once$", source.text, re.MULTILINE):
            yield Finding(source.path, 0, "no #pragma once")
        for line, _ in source.matches(re.compile(r"\busing\s+namespace\b")):
            yield Finding(source.path, line, "using namespace in a header")


def check_own_header_first(tree: Tree) -> Iterator[Finding]:
    """x.cc includes x.h first, so a source that compiles alone proves that its header does."""
    for source in tree.sources:
        own = source.path[:-len(".cc")] + ".h"
        if source.room and source.path.endswith(".cc") and own in tree.by_path:
            if not source.includes or source.includes[0].target != own:
                yield Finding(source.path, 0, f'"{own}" is not its first include')


def check_flags(tree: Tree) -> Iterator[Finding]:
    """No flag that lets NaN slip through, none that ties the build to one machine."""
    for path, text in tree.cmake.items():
        for match in UNSAFE_FLAG.finditer(text):
            yield Finding(path, text.count("\n", 0, match.start()) + 1,
                          f"{match.group()}: NaN checks vanish, or the program runs on this "
                          "processor alone; use a function's target attribute")


RULES = (
    check_floor_plan,
    check_cycles,
    check_restricted_headers,
    check_torch_stays_in_train,
    check_names,
    check_everything_is_built,
    check_libraries_neither_print_nor_exit,
    check_no_exceptions_of_ours,
    check_headers,
    check_own_header_first,
    check_flags,
)


def report_sizes(tree: Tree) -> Iterator[str]:
    for source in tree.sources:
        lines = source.text.count("\n")
        limit = MAX_HEADER_LINES if source.is_header else MAX_SOURCE_LINES
        if lines > limit:
            yield f"{source.path}: {lines} lines (more than {limit}): can it be cut?"
    for room in sorted(MAY_INCLUDE):
        files = sum(source.room == room and not source.is_test_code for source in tree.sources)
        if files > MAX_ROOM_FILES:
            yield f"submix/{room}: {files} files (more than {MAX_ROOM_FILES}): is it one thing?"


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args(arguments).root.resolve()
    tree = Tree(root)
    if not tree.sources:
        print(f"{root}: no sources under submix/; is this the root of the repository?",
              file=sys.stderr)
        return 1
    findings = [finding for rule in RULES for finding in rule(tree)]
    for finding in findings:
        print(finding)
    for line in report_sizes(tree):
        print("size:", line)
    print(f"{len(tree.sources)} files, {len(findings)} broken rules")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
