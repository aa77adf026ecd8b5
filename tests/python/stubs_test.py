"""The stubs name what the module has, with the same parameters.

    stubs_test.py BUILD_DIR SOURCE_DIR
"""

import ast
import inspect
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "python"))
import submix

STUB = ast.parse((pathlib.Path(sys.argv[2]) / "submix/python/submix/__init__.pyi").read_text())


def public(names):
    return {name for name in names if not name.startswith("_")}


def stub_parameters(function):
    arguments = function.args
    return [argument.arg for argument in [*arguments.args, *arguments.kwonlyargs]]


def parameters(name, value):
    """Of a function; pybind11's is in its docstring: "name(first: float, *, second: int = 1) -> float"."""
    if inspect.isfunction(value):
        return [one.name for one in inspect.signature(value).parameters.values() if one.kind != one.VAR_KEYWORD]
    signature = re.search(rf"\b{name}\((.*)\) -> ", value.__doc__.replace("1. ", "", 1)).group(1)
    return re.findall(r"(\w+): ", re.sub(r"\[[^\]]*\]", "", signature))


class StubsTest(unittest.TestCase):
    def compare(self, statements, real, where):
        stub = {node.name: node for node in statements if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.assertEqual(public(stub), public(real), where)
        for name in public(stub):
            node = stub[name]
            if name in ("SampleOutcome", "Error"):  # their members are Python's own
                continue
            if isinstance(node, ast.ClassDef):
                self.compare(node.body, vars(real[name]), f"{where}.{name}")
            elif [ast.unparse(decorator) for decorator in node.decorator_list] in ([], ["staticmethod"]):
                with self.subTest(f"{where}.{name}"):
                    self.assertEqual(stub_parameters(node), parameters(name, real[name]))

    def test_names_and_parameters(self):
        self.compare(STUB.body, vars(submix), "submix")

    def test_outcomes(self):
        outcomes = next(node for node in STUB.body if getattr(node, "name", "") == "SampleOutcome")
        self.assertEqual({line.targets[0].id for line in outcomes.body}, set(submix.SampleOutcome.__members__))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
