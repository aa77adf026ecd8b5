#!/usr/bin/env python3
"""What a file of the products uses of the standard library, it includes, itself or by files of ours.

Says what a compiler may not: headers of the standard library include each other, and
check_sources_alone.py reads them all at once. Exit code 1 with a line for each that is missing.

    scripts/check_standard_includes.py
"""

import pathlib
import re
import sys
from typing import Dict, FrozenSet, List

ROOT = pathlib.Path(__file__).resolve().parent.parent

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
PATTERNS = {header: re.compile(rf"\bstd::(?:{uses})\b") for header, uses in USES.items()}


class IncludedHeaders:
    """Those of others, <…>, that a file has, by whatever files of ours."""

    def __init__(self) -> None:
        self.found: Dict[str, FrozenSet[str]] = {}

    def of(self, name: str) -> FrozenSet[str]:
        if name not in self.found:
            self.found[name] = frozenset()  # ends a cycle
            path = ROOT / name
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            headers = set(re.findall(r"^#include <([^>]+)>", text, re.M))
            for ours in re.findall(r'^#include "([^"]+)"', text, re.M):
                headers |= self.of(ours)
            self.found[name] = frozenset(headers)
        return self.found[name]


def missing(path: pathlib.Path, headers: IncludedHeaders) -> List[str]:
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    included = headers.of(path.relative_to(ROOT).as_posix())
    if "string" in included:
        included |= {"string_view"}  # as the standard promises
    uses = {header: pattern.search(text) for header, pattern in PATTERNS.items() if header not in included}
    return [f"{path.relative_to(ROOT)}: uses {use.group()} without #include <{header}>" for header, use in uses.items() if use]


def main() -> int:
    headers = IncludedHeaders()
    files = [path for folder in ("submix", "benchmarks") for path in sorted((ROOT / folder).rglob("*.*")) if path.suffix in (".cc", ".h")]
    products = [path for path in files if not path.name.endswith("_test.cc") and "testing" not in path.parts]
    found = [line for path in products for line in missing(path, headers)]
    print(*found, f"{len(products)} files, {len(found)} standard headers missing", sep="\n")
    return 1 if found or not products else 0


if __name__ == "__main__":
    sys.exit(main())
