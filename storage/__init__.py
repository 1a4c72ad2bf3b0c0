"""The memory on disk: LanceDB; and the files that it is exported to."""

from storage.examples import export_examples
from storage.pool_export import PoolExport, export_pool
from storage.pools import PoolImport, import_pool
from storage.store import LanceStore, Stats
from storage.table import TableStats
from storage.tables import export_table
from storage.transfer import export_log, import_log, is_log

__all__ = [
    "LanceStore",
    "PoolExport",
    "PoolImport",
    "Stats",
    "TableStats",
    "export_examples",
    "export_log",
    "export_pool",
    "export_table",
    "import_log",
    "import_pool",
    "is_log",
]
