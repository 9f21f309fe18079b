"""RocksDB inside a store directory of 5.x, read-only: queues, settings and the state of features.

``database.py`` opens a directory without its lock and without changing it, ``queues.py`` gives
consume queues the form of files, ``settings.py`` gives settings the text of the files of
``config/``, and ``contents.py`` names what else there is.
"""
