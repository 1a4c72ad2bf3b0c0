"""What holds for every test: no network, one thread, nobody's real settings and memory.

`make nightly` sets REMEMBERER_NIGHTLY: properties are then tried on 1,000 examples, and what takes minutes is run too.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

NIGHTLY = bool(os.environ.get("REMEMBERER_NIGHTLY"))

# A busy machine is no reason to fail.
settings.register_profile("unhurried", deadline=None, max_examples=1000 if NIGHTLY else 100)
settings.load_profile("unhurried")

# Before anything is imported that reads them. The workers of a run have to learn of the night, too.
for _name in [name for name in os.environ if name.startswith(("REMEMBERER_", "OPENAI_"))]:
    if _name != "REMEMBERER_NIGHTLY":
        del os.environ[_name]
os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    GRADIO_ANALYTICS_ENABLED="False",
    LANCEDB_LOG="error",
    TOKENIZERS_PARALLELISM="false",
    # Small work on shared cores: more threads are slower, and torch and OpenBLAS read this.
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """A worker a core; none where only files are named, which are done before workers have started."""
    return None if any(Path(each.partition("::")[0]).is_dir() for each in config.args) else 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = [] if NIGHTLY else [item for item in items if item.get_closest_marker("nightly")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The default home of the run, also in processes that tests start. A test that stores something makes its own."""
    os.environ["REMEMBERER_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    del os.environ["REMEMBERER_HOME"]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the default encoder exported, made as the program makes it, once: it takes half a minute."""
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent  # which all workers share
    folder = run / "encoders"
    with FileLock(run / "encoders.lock"):
        if not list(folder.glob("*.onnx")):
            command = [sys.executable, "-W", "ignore", "-m", "rememberer.onnx_export", str(folder)]
            made = subprocess.run(command, capture_output=True, text=True)
            assert made.returncode == 0, made.stderr
            assert made.stdout.strip() in map(str, folder.glob("*.onnx"))
            assert not list(folder.glob("*.part"))
    return folder


@pytest.fixture(autouse=True)
def _no_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor for a home that is gone by then."""
    monkeypatch.setattr("rememberer.onnx_encoder.export_in_background", lambda folder: None)
