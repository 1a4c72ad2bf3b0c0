"""The rules of the house: floors, sizes, public names, quick imports, and a lock that says what pyproject.toml asks."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FLOORS = {"envs": 0, "rememberer": 1, "storage": 2, "app": 3}
MODULES = sorted(path for room in FLOORS for path in (ROOT / room).rglob("*.py"))
SLOW_TO_IMPORT = [
    "gradio",
    "torch",
    "sentence_transformers",
    "lancedb",
    "openai",
    "spacy",
    "onnxruntime",
    "tokenizers",
    "matplotlib",
    "krippendorff",
]
OF_ONE_MACHINE = re.compile(r"(?<![\w.~-])/(?:work|root|home|Users)/\w|\bshared/(?:design)\b")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    """Imported modules, with the line; relative ones stay in their room and are left out."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno


def _files() -> Iterator[Path]:
    """Everything that belongs to the project, tests and pictures included; nothing that was installed or built."""
    for top in ROOT.iterdir():
        if top.name in {".git", "build", "dist"} or top.name.endswith(".egg-info"):
            continue
        if top.is_file():
            yield top
        elif not top.name.startswith(".") or top.name == ".ci":
            yield from (path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _pins(file: str) -> dict[str, Requirement]:
    lines = [line for line in (ROOT / file).read_text("utf-8").splitlines() if not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in map(Requirement, lines)}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_imports_from_its_own_floor_or_below(path: Path) -> None:
    floor = FLOORS[path.relative_to(ROOT).parts[0]]
    upward = [
        f"{_name(path)}:{line} imports {module}"
        for module, line in _imports(path)
        if FLOORS.get(module.split(".")[0], 0) > floor or module.split(".")[0] == "tests"
    ]
    assert not upward


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_can_be_read_in_one_go(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= 400


@pytest.mark.parametrize("room", ["envs", "rememberer", "storage"])
def test_every_public_name_of_a_room_is_there(room: str) -> None:
    module = importlib.import_module(room)
    assert module.__all__
    for name in module.__all__:
        assert not name.startswith("_")
        assert getattr(module, name) is not None


@pytest.mark.parametrize("module", [*FLOORS, "app.cli", "app.settings"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {SLOW_TO_IMPORT} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not run.stdout.split()


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    found = []
    for path in _files():
        try:
            lines = path.read_text("utf-8").split("\n")
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{_name(path)}:{number}" for number, line in enumerate(lines, 1) if OF_ONE_MACHINE.search(line)]
    assert not found


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_the_lock_pins_one_version_each_wherever_it_is_installed(file: str) -> None:
    for pin in _pins(file).values():
        assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), f"{pin}: expected name==version, without +local or URL"
        assert pin.url is None


def test_the_lock_has_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    run, dev = _pins("requirements.txt"), _pins("requirements-dev.txt")
    asked = [(line, run) for line in project["dependencies"]]
    asked += [(line, run | dev) for line in project["optional-dependencies"]["dev"]]
    for line, pins in asked:
        wanted = Requirement(line)
        pin = pins.get(canonicalize_name(wanted.name))
        assert pin is not None, f"{wanted.name} is not locked: make lock"
        (exactly,) = pin.specifier
        assert wanted.specifier.contains(exactly.version), f"{pin} is not {wanted}: make lock"
        assert str(pin.marker) == str(wanted.marker)


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "make run" in readme
    assert "make test" in readme
