"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[Path | None, typer.Option(help="Folder that holds everything the program remembers.")]
User = Annotated[str | None, typer.Option(help="Whose memory it is.")]
