"""The command line. For now it only tells its version."""

from importlib.metadata import version


def main() -> None:
    print(f"rememberer {version('rememberer')}")
