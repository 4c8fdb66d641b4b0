"""Is the package's face described, typed, and light to import?"""

import inspect
import subprocess
import sys

import esker
from tests.conftest import ROOT


def test_every_public_name_has_a_docstring_of_its_own():
    bare = [name for name in esker.__all__ if not _described(getattr(esker, name))]
    assert not bare, f"these public names have no docstring: {', '.join(bare)}"


def test_every_public_method_has_a_docstring():
    bare = [
        f"{name}.{member}"
        for name in esker.__all__
        if inspect.isclass(public := getattr(esker, name))
        for member, value in vars(public).items()
        if not member.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod))
        and not inspect.getdoc(value)
    ]
    assert not bare, f"these public methods have no docstring: {', '.join(bare)}"


def test_importing_the_package_imports_neither_spark_nor_java():
    code = "import esker, sys; print(*sorted({'pyspark', 'py4j', 'jpype'} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == ""


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "esker" / "py.typed").is_file()


def _described(public: object) -> bool:
    """Whether it has its own docstring: neither inherited, nor the one that a dataclass writes for itself."""
    if inspect.isclass(public):
        text = vars(public).get("__doc__")
        return bool(text) and not text.startswith(f"{public.__name__}(")
    if inspect.isroutine(public) or inspect.ismodule(public):
        return bool(inspect.getdoc(public))
    return True  # a constant's or an alias's docstring is its type's
