"""The memory on disk: LanceDB."""
