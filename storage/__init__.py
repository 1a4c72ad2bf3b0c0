"""The memory on disk: LanceDB."""

from storage.pools import PoolImport, import_pool
from storage.store import LanceStore, Stats
from storage.table import TableStats
from storage.transfer import export_log, import_log, is_log

__all__ = ["LanceStore", "PoolImport", "Stats", "TableStats", "export_log", "import_log", "import_pool", "is_log"]
