"""The memory on disk: LanceDB."""

from storage.store import LanceStore, Stats
from storage.table import TableStats
from storage.transfer import export_log, import_log

__all__ = ["LanceStore", "Stats", "TableStats", "export_log", "import_log"]
