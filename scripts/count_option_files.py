#!/usr/bin/env python3
"""Adds an option that nobody wants, of a mechanism, of a training and of `submix serve`, to a copy of the sources: says which files that touches, compiles them, and looks whether the option is in files, on command lines and in the documents. More than three files of code are an error.

    count_option_files.py
"""

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_FILES = 3
COMPILE = [os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror"]

# An option: what is written before which line of which file, and what a program says of the table then. A file of
# code holds the option, one has its row, one uses it; documents are those that are not made by the table.
OPTIONS = [
    {
        "what": "an option of a mechanism",
        "edits": [
            ("submix/mechanism/mechanism_options.h", "  // What stands behind the screen",
             "  double fake_strength = 0;  // in [0, 1]\n"),
            ("submix/mechanism/options_table.cc", '    {.path = "ball_radius",', """\
    {.path = "fake_strength",
     .flag = "--fake-strength",
     .readers = "dclip",
     .range = "in [0, 1]",
     .unsaid = "0",
     .reason = "nobody wants it",
     .help = "Nothing",
     .field = +[](MechanismOptions& options) -> double& { return options.fake_strength; }},
"""),
            ("submix/mechanism/dclip.cc", "  SUBMIX_ASSIGN_OR_RETURN(PublicScores scores,", """\
  if (!(options_.fake_strength >= 0 && options_.fake_strength <= 1)) {
    return base::InvalidArgumentError("fake strength: expected 0 to 1");
  }
"""),
        ],
        "documents": ["docs/mechanism_options.md (the table)", "docs/privacy.md (the theorem)"],
        "sources": ["mechanism/options_table", "mechanism/mechanism_options", "divergence/renyi_order", "base/status",
                    "base/check"],
        "program": """
#include "submix/mechanism/options_table.h"
using namespace submix::mechanism;
int main() {
  MechanismOptions options;
  std::fputs(OptionsAsMarkdown().c_str(), stdout);
  for (const MechanismOption& option : MechanismOptionsTable()) {
    if (option.path != "fake_strength") continue;
    std::printf("default: %d\\n", IsWritten(option, options));
    if (!SetText(option, "0.5", options).ok()) return 1;
    std::printf("%s %s %s %d\\n", option.keyword().c_str(), option.pointer().c_str(),
                TextOf(option, options).c_str(), IsWritten(option, options));
  }
}
""",
        "says": ["| `--fake-strength` | `fake_strength` | dclip | in [0, 1] | 0: nobody wants it | Nothing |",
                 "default: 0", "fake_strength /fake_strength 0.5 1"],
    },
    {
        "what": "an option of a training",
        "edits": [
            ("submix/train/recipes/optimiser_options.h", "  Decay decay = Decay::kConstant;", "  double fake_share = 0;  // in [0, 1]\n"),
            ("submix/train/recipes/training_options_table.cc", '    {.name = "weight_decay",', """\
    {"fake_share", "--fake-share", "Nothing",
     +[](TrainingOptions& of) -> double& { return of.learning_rate.fake_share; }, Record::kIfSet,
     0, 1},
"""),
            ("submix/train/recipes/optimiser_options.cc", "  if (schedule.decay == Decay::kConstant) return schedule.peak;",
             "  if (schedule.fake_share > 0.5) return schedule.peak;\n"),
        ],
        "documents": ["docs/training_options.md (the table)"],
        "sources": ["train/recipes/training_options_table", "base/status", "base/check"],
        "program": """
#include "submix/train/recipes/training_options_table.h"
using namespace submix::train;
void Say(const FineTuneOptions& options) {
  std::map<std::string, std::string> members, alone;
  AddNumbers(options, members);
  AddNumbers(static_cast<const TrainingOptions&>(options), alone);
  FineTuneOptions back;
  const bool is_read = ReadNumbers(members, back).ok();
  std::printf("manifests %s %s, back %d %g; checkpoint %s\\n", members["fake_share"].c_str(),
              alone["fake_share"].c_str(), is_read, back.learning_rate.fake_share,
              IdentityNumbers(options).c_str());
}
int main() {
  FineTuneOptions options;
  std::fputs(TrainingOptionsAsMarkdown().c_str(), stdout);
  Say(options);
  for (const TrainingOption& option : TrainingOptionsTable()) {
    if (option.name == "fake_share" && !SetText(option, "0.25", options)) return 1;
  }
  Say(options);
}
""",
        "says": ["| `--fake-share` | `fake_share` | every training | 0 to 1 | 0 | Nothing |",
                 "manifests  , back 1 0; checkpoint 1 8 129 0.0001 1 0 0 0 0.90000000000000002 0.999 1e-08 0 1",
                 "manifests 0.25 0.25, back 1 0.25; checkpoint 1 8 129 0.0001 1 0 0 0 0.90000000000000002 0.999 1e-08 fake_share=0.25 0 1"],
    },
    {
        "what": "an option of submix serve",
        "edits": [
            ("submix/engine/scheduler.h", "  int max_waiting = 256;", "  int fake_pause = 7;\n"),
            ("submix/apps/serving/serve_options_table.cc", '    {"engine.quantum",', """\
    {"engine.fake_pause", "--fake-pause", "Nothing",
     +[](ServeConfig& c) -> int& { return c.scheduler.fake_pause; }, 1, 9},
"""),
            ("submix/engine/scheduler.cc", "  if (options.prompt_tokens < 1 ||", """\
  if (options.fake_pause < 1) return base::InvalidArgumentError("fake pause: expected 1 or more");
"""),
        ],
        "documents": ["examples/serve.toml (the table)"],
        "sources": ["apps/serving/serve_options_table", "base/json_object", "base/status", "base/check"],
        "program": """
#include "submix/apps/serving/serve_options_table.h"
// What is not asked here, and would bring the server with it.
namespace submix::chat { std::vector<std::string> ChatTemplateNames() { return {}; } }
using namespace submix::apps;
int main() {
  std::fputs(ServeOptionsAsToml().c_str(), stdout);
  const ServeOption* const option = FindServeOption("engine", "fake_pause");
  if (option != nullptr) std::printf("%s\\n", std::string(option->flag).c_str());
}
""",
        "says": ["fake_pause = 7           # Nothing", "--fake-pause"],
    },
]


def insert(copy, path, before, text):
    file = copy / path
    old = file.read_text(encoding="utf-8")
    places = old.count("\n" + before)
    if places != 1:
        raise ValueError(f"{path}: {places} lines begin with {before!r}, expected one")
    file.write_text(old.replace("\n" + before, "\n" + text + before), encoding="utf-8")


def touched(copy):
    """Files that the copy has otherwise, relative to the root."""
    return sorted(str(file.relative_to(copy)) for file in (copy / "submix").rglob("*")
                  if file.is_file() and not filecmp.cmp(file, ROOT / file.relative_to(copy), shallow=False))


def errors_of(*jobs):
    running = [subprocess.Popen(job, stderr=subprocess.PIPE, text=True) for job in jobs]
    return "".join(process.communicate()[1] for process in running)


def check(option, copy):
    """Findings: what is wrong."""
    for path, before, text in option["edits"]:
        insert(copy, path, before, text)
    files = touched(copy)
    print(f"{option['what']}: {len(files)} files of code")
    for file in files:
        print(f"  {file}")
    print("  documents: " + ", ".join(option["documents"]))
    findings = [] if len(files) <= MOST_FILES else [f"{len(files)} files of code, expected {MOST_FILES} at most"]
    # One file of the table, what it calls and the questions; the file that uses the option, alone. Whatever else the
    # rooms have is not there, nor asked.
    sources = [f"submix/{source}.cc" for source in option["sources"]]
    (copy / "program.cc").write_text(
        "".join(f'#include "{source}"\n' for source in sources) + "#include <cstdio>\n" + option["program"], encoding="utf-8")
    uses = [copy / file for file in files if file.endswith(".cc") and file not in sources]
    program = copy / "program"
    errors = errors_of([*COMPILE, "-no-pie", "-I", copy, copy / "program.cc", "-Wl,--unresolved-symbols=ignore-all", "-o", program],
                       [*COMPILE, "-I", copy, "-fsyntax-only", *uses])
    if errors:
        return [*findings, errors]
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return findings + [f"the table does not say: {line}" for line in option["says"] if line not in said]


def main():
    if shutil.which(COMPILE[0]) is None:
        print(f"skipped: there is no compiler {COMPILE[0]}")
        return 77
    wrong = 0
    for option in OPTIONS:
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory)
            shutil.copytree(ROOT / "submix", copy / "submix")
            for finding in check(option, copy):
                wrong += 1
                print(f"{option['what']}: {finding}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
