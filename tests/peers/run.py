#!/usr/bin/env python3
"""Runs the tests against other programs: every x_test.py beside this file, or those named, in the environment that
`./dev peers` made. Ends with one line that counts; a file whose environment is missing is skipped by name.

    run.py BUILD_DIR SOURCE_DIR [NAME…]
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(test, python, build, source):
    """Passed, failed, skipped."""
    process = subprocess.Popen([python, test, build, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    code = process.wait()
    ran = re.search(r"^Ran (\d+) test", "".join(lines), re.M)
    if not ran or (int(ran[1]) == 0 and code == 0):
        return 0, 1, 0
    outcome = dict(re.findall(r"(failures|errors|skipped)=(\d+)", lines[-1]))
    skipped = int(outcome.pop("skipped", 0))
    failed = max(sum(map(int, outcome.values())), 1 if code != 0 else 0)
    return max(int(ran[1]) - failed - skipped, 0), failed, skipped


def main():
    build, source = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    tests = sorted(HERE.glob("*_test.py"))
    unknown = set(sys.argv[3:]) - {test.name.removesuffix("_test.py") for test in tests}
    if unknown:
        sys.exit(f"run.py: no test {', '.join(sorted(unknown))}; there are: "
                 + ", ".join(test.name.removesuffix("_test.py") for test in tests))
    python = source / "build/peers/current/bin/python"
    counts = [0, 0, 0]
    for test in tests:
        name = test.name.removesuffix("_test.py")
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        print(f"== {name}", flush=True)
        if python.exists():
            found = run(test, python, build, source)
        else:
            print(f"{name}: skipped: {python.relative_to(source)} is missing; ./dev peers makes it")
            found = 0, 0, 1
        counts = [a + b for a, b in zip(counts, found)]
    print("{} passed, {} failed, {} skipped".format(*counts))
    sys.exit(1 if counts[1] else 0)


if __name__ == "__main__":
    main()
