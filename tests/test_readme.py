"""What the README tells people to type does what it says."""

import re
from pathlib import Path
from typing import Any

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_library_example_works_through_a_task() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["session"].ended
    assert len(names["memory"]) > 0


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert (Path(__file__).parents[1] / picture).is_file()
