"""RocksDB inside a store directory of 5.x, read-only: queues and settings.

``database.py`` opens a directory without its lock and without changing it, ``queues.py`` gives
consume queues the form of files, and ``settings.py`` gives settings the text of the files of
``config/``. What other databases hold is counted in ``storefmt.offline.views.parts``.
"""
