"""The module as `cmake --install` puts it, and what pyproject.toml asks of CMake for `pip install .`.

    install_test.py BUILD_DIR SOURCE_DIR
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()


class InstallTest(unittest.TestCase):
    def test_the_component_is_the_module_and_its_types(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", BUILD, "--component", "python3-submix", "--prefix", prefix], check=True,
                           stdout=subprocess.DEVNULL)
            files = {path for path in pathlib.Path(prefix).rglob("*") if path.is_file()}
            folder = pathlib.Path(prefix) / "lib/python3/dist-packages"
            self.assertEqual({path.parent for path in files}, {folder, folder / "submix"})
            self.assertEqual({path.suffix for path in files}, {".so", ".pyi", ".py", ".typed"})
            said = subprocess.run([sys.executable, "-c", "import submix; print(submix.accounting.rdp(2, 1e-6, 8))"],
                                  env={"PYTHONPATH": str(folder)}, check=True, capture_output=True, text=True).stdout
            self.assertGreater(float(said), 0)

    def test_pip_asks_for_what_there_is(self):
        metadata = tomllib.loads((SOURCE / "pyproject.toml").read_text())
        build = metadata["tool"]["scikit-build"]
        cache = (BUILD / "CMakeCache.txt").read_text()
        for option in build["cmake"]["define"]:
            self.assertRegex(cache, rf"(?m)^{option}:")
        cmake = (SOURCE / "submix/python/CMakeLists.txt").read_text()
        self.assertIn(f"add_library({build['build']['targets'][0]} MODULE", cmake)
        self.assertIn(f"COMPONENT {build['install']['components'][0]})", cmake)
        version = build["metadata"]["version"]
        self.assertRegex(re.search(version["regex"], (SOURCE / version["input"]).read_text())["value"], r"^\d+\.\d+\.\d+$")
        for file in (metadata["project"]["readme"], *metadata["project"]["license-files"]):
            self.assertTrue((SOURCE / file).is_file(), file)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
