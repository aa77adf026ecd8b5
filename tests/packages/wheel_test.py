#!/usr/bin/env python3
"""The wheel of packaging/make_wheel.sh in a virtual environment of its own: the module, the command, the types; nothing
of the system but what every Linux has. Ends with 77, which is "skipped", where Python's packages are out of reach.

    wheel_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
OUT_OF_REACH = 77
SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libpthread.so.0", "libdl.so.2", "libz.so.1", "libresolv.so.2",
          "librt.so.1", "ld-linux-x86-64.so.2", "linux-vdso.so.1"}  # a part of what manylinux takes as given


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(work.cleanup)
        cls.work, cls.environment = pathlib.Path(work.name), pathlib.Path(work.name) / "environment"
        run(PYTHON, "-m", "venv", cls.environment)
        run(cls.environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", WHEEL)
        cls.site = pathlib.Path(cls.python("import submix, pathlib; print(pathlib.Path(submix.__file__).parent.parent)").strip())

    @classmethod
    def python(cls, program):
        return run(cls.environment / "bin/python", "-I", "-c", program)

    def test_what_it_calls_itself(self):
        version = (SOURCE / "VERSION").read_text().split()[0]
        said = json.loads(self.python("import importlib.metadata as m, json; d = m.metadata('submix'); "
                                      "print(json.dumps([m.version('submix'), d['License-Expression'], d['Requires-Python']]))"))
        self.assertEqual(said, [version, "Apache-2.0", ">=3.9"])
        self.assertRegex(WHEEL.name, rf"^submix-{re.escape(version)}-cp3\d+-cp3\d+-manylinux_2_\d+_x86_64\.whl$")
        for file in ("submix/py.typed", "submix/__init__.pyi", "submix_logits.py"):
            self.assertTrue((self.site / file).is_file(), file)
        licences = {path.name for path in self.site.glob("submix-*.dist-info/licenses/*")}
        self.assertEqual(licences, {"LICENSE", "NOTICE"})

    def test_the_command_and_the_module_are_one_version_of_one_thing(self):
        command = self.environment / "bin/submix"
        self.assertIn((SOURCE / "VERSION").read_text().strip(), run(command, "--version"))
        said = json.loads(run(command, "account", "dclip", "--parts", 64, "--clip", 1.4, "--tokens", 1000, "--json"))
        epsilon = float(self.python("import submix; print(submix.accounting.dclip(parts=64, clip=1.4).epsilon(1000).epsilon)"))
        self.assertIn(f"{epsilon:.6g}", {f"{value:.6g}" for value in numbers(said)})

    def test_a_deployment_answers(self):
        ensemble, deployment = self.work / "ensemble", self.work / "deployment"
        run(self.environment / "bin/submix", "deploy", ensemble, deployment, "--external", "ab" * 32, "--parts", 4,
            "--vocabulary", 16)
        token = int(self.python(f"""
import numpy, submix
with submix.open({str(deployment)!r}) as deployment:
    print(deployment.sampler().sample(numpy.zeros((5, 16), numpy.float32)))"""))
        self.assertIn(token, range(16))

    def test_arrays_are_whole_in_this_numpy(self):
        """A module that was compiled for another NumPy may make arrays that repeat their first number."""
        text = self.work / "text.jsonl"
        text.write_text(json.dumps({"user": "a", "text": "The sea and the hill, and nothing else to see."}) + "\n")
        ids, average = json.loads(self.python(f"""
import json, numpy, submix
steps = submix.PrivateSteps({str(self.work / "account")!r}, "test", parameters=3, units=2, expected_batch=1, steps=2)
steps.draw(2)
print(json.dumps([submix.read_users({str(text)!r}, {str(SOURCE / "data/public_model")!r})[0][0].tolist(), steps.release().tolist()]))"""))
        self.assertGreater(len(set(ids)), 8)
        self.assertEqual(len(set(average)), 3)

    def test_it_brings_its_libraries(self):
        for program in (next(self.site.glob("submix/_core.*.so")), self.site / "submix/bin/submix"):
            for name, path in re.findall(r"^\s*(\S+)(?: => (\S+))? \(0x", run("ldd", program), re.M):
                with self.subTest(f"{program.name}: {name}"):
                    is_own = pathlib.Path(path).resolve().is_relative_to(self.site / "submix.libs") if path else False
                    self.assertTrue(is_own or pathlib.Path(name).name in SYSTEM, path)


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, (int, float)):
        yield value


if __name__ == "__main__":
    made = subprocess.run([SOURCE / "packaging/make_wheel.sh", BUILD, BUILD / "wheel"], stdout=subprocess.PIPE, text=True)
    if made.returncode == OUT_OF_REACH:
        print("skipped: Python's packages are out of reach")
        sys.exit(OUT_OF_REACH)
    assert made.returncode == 0, "no wheel"
    WHEEL = pathlib.Path(made.stdout.strip())
    PYTHON = re.search(r"(?m)^Python_EXECUTABLE:FILEPATH=(.*)$", (BUILD / "CMakeCache.txt").read_text())[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
