#!/usr/bin/env python3
"""What a file uses, it includes, itself or by files of ours: names of the standard library, of other
libraries, and of our own headers.

Says what a compiler may not: rooms are compiled with their sources joined, and headers of the standard
library include each other. Exit code 1 with a line for each that is missing.

    scripts/check_includes.py [ROOT]
"""

import pathlib
import re
import sys
from typing import Dict, FrozenSet, Iterator, List, Set

ROOT = pathlib.Path(sys.argv[1] if sys.argv[1:] else __file__ + "/../..").resolve()

# Header → what it is there for, without std::.
USES = {
    "algorithm": r"any_of|all_of|none_of|(?:stable_)?sort|nth_element|(?:max|min|minmax)_element|find_if|count_if|(?:lower|upper)_bound|clamp"
                 r"|fill(?:_n)?|copy_n|transform|reverse|unique|remove_if|equal_range|binary_search|is_sorted|shuffle|partition|rotate",
    "array": r"array",
    "atomic": r"atomic",
    "bit": r"bit_cast|popcount|countl_zero|has_single_bit|endian",
    "charconv": r"from_chars|to_chars",
    "chrono": r"chrono",
    "cmath": r"sqrt|exp|log|log1p|expm1|pow|isfinite|isnan|lround|floor|ceil|erfc?|lgamma|ldexp|frexp",
    "condition_variable": r"condition_variable",
    "cstdint": r"u?int(?:8|16|32|64)_t",
    "cstdio": r"f?printf|snprintf|fputs|fflush",
    "cstdlib": r"getenv|strto\w+|exit|abort",
    "cstring": r"mem(?:cpy|set|cmp|chr|move)|str(?:len|error|cmp)",
    "deque": r"deque",
    "filesystem": r"filesystem",
    "fstream": r"[io]?fstream",
    "functional": r"function|hash|plus|multiplies|greater|less",
    "future": r"future|promise|async",
    "iterator": r"back_inserter|istreambuf_iterator|make_move_iterator",
    "limits": r"numeric_limits",
    "list": r"list",
    "map": r"(?:multi)?map",
    "memory": r"(?:unique|shared|weak)_ptr|make_(?:unique|shared)",
    "mutex": r"mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once",
    "numeric": r"accumulate|iota|inner_product|partial_sum|reduce|gcd|lcm|(?:ex|in)clusive_scan",
    "optional": r"optional|nullopt",
    "queue": r"(?:priority_)?queue",
    "random": r"mt19937(?:_64)?|\w+_distribution",
    "set": r"(?:multi)?set",
    "span": r"span|as_(?:writable_)?bytes",
    "sstream": r"[io]?stringstream",
    "string": r"string|to_string|sto(?:i|d|l|ull)|getline",
    "string_view": r"string_view",
    "thread": r"thread|this_thread|jthread",
    "tuple": r"tuple|tie",
    "unordered_map": r"unordered_map",
    "unordered_set": r"unordered_set",
    "utility": r"pair|make_pair|exchange|move|swap",
    "variant": r"variant|visit|monostate|holds_alternative|get_if",
    "vector": r"vector",
}

# The same of other libraries and the system, by whole names.
NAMES = {
    "CLI/CLI.hpp": r"CLI::\w+",
    "boost/asio/ip/tcp.hpp": r"boost::asio::ip::\w+",
    "bzlib.h": r"BZ2?_\w+|bz_stream",
    "cerrno": r"errno|E[A-Z]{4,}",
    "csignal": r"SIG[A-Z]+|sigaction|sigaddset|pthread_sigmask",
    "fcntl.h": r"O_[A-Z]+",
    "lzma.h": r"lzma_\w+|LZMA_\w+",
    "nlohmann/json.hpp": r"nlohmann::\w+",
    "poll.h": r"pollfd|POLL[A-Z]+",
    "pybind11/pybind11.h": r"pybind11::\w+|PYBIND11_\w+",
    "sodium.h": r"sodium_\w+|crypto_\w+|randombytes_\w+",
    "sqlite3.h": r"sqlite3_\w+|SQLITE_\w+",
    "sys/mman.h": r"mmap|munmap|madvise|MAP_[A-Z]+|PROT_[A-Z]+",
    "sys/resource.h": r"[gs]etrlimit|getrusage|RLIMIT_[A-Z]+",
    "sys/socket.h": r"sockaddr|AF_[A-Z]+|SOCK_[A-Z]+|setsockopt|getsockname",
    "sys/un.h": r"sockaddr_un",
    "sys/stat.h": r"S_I[A-Z]+|fchmod|fstat|mkdirat?",
    "torch/types.h": r"(?:torch|at)::(?:Tensor|k[A-Z]\w+|empty|zeros|mm)",
    "zlib.h": r"z_stream|[in]*flateInit2?|Z_[A-Z_]+",
    "zstd.h": r"ZSTD_(?!error|getErrorCode)\w+",
    "unistd.h": r"fsync|fdatasync|ftruncate|getpid|isatty|unlink|sysconf|dup2|execvp?e?",
}
PATTERNS = {**{header: re.compile(rf"\bstd::(?:{uses})\b") for header, uses in USES.items()},
            **{header: re.compile(rf"\b(?:{uses})\b") for header, uses in NAMES.items()}}

# What a header gives to those that include it, at the left edge, as our formatter leaves it.
DECLARED = (
    re.compile(r"^(?:class|struct|enum class|enum|union)(?: alignas\(\w+\))? (\w+)(?: final)?(?: :[^;{]*)? ?{", re.M),
    re.compile(r"^using (\w+) =", re.M),
    re.compile(r"^concept (\w+) =", re.M),
    re.compile(r"^(?:inline |extern )?(?:constexpr|const|constinit) [\w:<>,* ]+?\b(\w+)(?:\[\w*\])?(?: =|{|;)", re.M),
    re.compile(r"^#define (SUBMIX_\w+)", re.M),
    re.compile(r"^(?:\[\[[\w:]+\]\] )?(?=\w)(?!using|return|namespace|class|struct)[\w:<>,*&\[\] ]*?[ *&>]([A-Z]\w+)\(", re.M),
)
# What it gives a meaning for itself: in classes, functions and templates, and by a declaration without more.
LOCAL = (
    re.compile(r"\b(?:class|struct|enum class|typename|using) (\w+)(?:,|>| *[:={])"),
    re.compile(r"\btemplate <.*\b(k[A-Z]\w+)>"),
    re.compile(r"^ +(?!return\b|else\b)\w[\w:<>,*& ]*?[ *&>]([A-Z]\w+)\(", re.M),
    re.compile(r"^ +(?:static |constexpr |const )+[\w:<>,*& ]*?[ *&>](k[A-Z]\w+)", re.M),
)
FORWARD = re.compile(r"^ *(?:friend )?(?:class|struct) (\w+);", re.M)  # enough for a header
ENUMERATORS = re.compile(r"\benum (?:class )?\w+(?: : [\w:]+)? {([^}]*)}")
OTHERS = ("std", "boost", "nlohmann", "CLI", "torch", "at", "c10", "testing")
CHAIN = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*(?:::\w+)*")


def code(path: pathlib.Path) -> str:
    """Without comments and what stands in quotes."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', path.read_text(encoding="utf-8"), flags=re.S)
    includes = re.findall(r"^ *# *include .*", text, re.M)
    text = re.sub(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""", '""', text, flags=re.S)
    return "\n".join([*includes, text])


class Files:
    """What files include, <…> and by whatever files of ours, and the names that they give a meaning."""

    def __init__(self, paths: List[pathlib.Path]) -> None:
        self.code = {path.relative_to(ROOT).as_posix(): code(path) for path in paths}
        self.declared = {name: declared(text) for name, text in self.code.items()}
        self.members = {name: members(text) for name, text in self.code.items()}
        self.chains = {name: set(CHAIN.findall(text)) for name, text in self.code.items()}
        self.headers_of: Dict[str, Set[str]] = {}  # a name that headers of ours declare → those
        for header in (name for name in self.code if name.endswith(".h")):
            for word in self.declared[header]:
                self.headers_of.setdefault(word, set()).add(header)
        self.kernels = set().union(*(self.declared[name] for name in self.code if name.endswith(".inc")))
        self.found: Dict[str, FrozenSet[str]] = {}

    def included_by(self, name: str) -> FrozenSet[str]:
        if name not in self.found:
            self.found[name] = frozenset()  # ends a cycle
            text = self.code.get(name, "")
            headers = set(re.findall(r"^#include <([^>]+)>", text, re.M))
            for ours in re.findall(r'^#include "([^"]+)"', text, re.M):
                headers |= {ours} | self.included_by(ours)
            self.found[name] = frozenset(headers)
        return self.found[name]

    def missing(self, name: str) -> Iterator[str]:
        included = self.included_by(name) | {name}
        if "string" in included:
            included |= {"string_view"}  # as the standard promises
        own = self.declared[name].union(*(self.members.get(file, ()) for file in included))
        if name.endswith(".h"):
            own = own.union(*(FORWARD.findall(self.code.get(file, "")) for file in included))
        if any(file.endswith(".inc") for file in included):  # which include another by a macro
            own |= self.kernels
        used = "\n".join(sorted(self.chains[name]))
        for header, pattern in PATTERNS.items():
            use = pattern.search(used) if header not in included else None
            if use and use.group() not in own:
                yield f"{name}: uses {use.group()} without #include <{header}>"
        for word in sorted(words(self.chains[name]) & self.headers_of.keys() - own):
            if not self.headers_of[word] & included:
                yield f'{name}: uses {word} without #include "{" or ".join(sorted(self.headers_of[word]))}"'


def declared(text: str) -> Set[str]:
    return {name for pattern in DECLARED for name in pattern.findall(text)}


def words(chains: Set[str]) -> Set[str]:
    """All names but what follows that of a class or of another library."""
    found: Set[str] = set()
    for chain in chains:
        names = chain.split("::")
        if names[0] not in OTHERS:
            found.update(name for before, name in zip(["", *names], names) if not before or before[0].islower())
    return found


def members(text: str) -> Set[str]:
    found = {name for pattern in LOCAL for name in pattern.findall(text)}
    return found.union(*(re.findall(r"\bk[A-Z]\w+", values) for values in ENUMERATORS.findall(text)))


def main() -> int:
    files = Files([path for folder in ("submix", "benchmarks", "tests") for path in sorted((ROOT / folder).rglob("*.*"))
                   if path.suffix in (".cc", ".h", ".inc")])
    found = [line for name in files.code if not name.endswith(".inc") for line in files.missing(name)]
    print(*found, f"{len(files.code)} files, {len(found)} includes missing", sep="\n")
    return 1 if found or not files.code else 0


if __name__ == "__main__":
    sys.exit(main())
