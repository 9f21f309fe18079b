"""RocksDB inside a store directory of 5.x, read-only: queues and settings.

``database.py`` opens a directory without its lock and without changing it, ``queues.py`` gives
consume queues the form of files, and ``settings.py`` gives settings the text of the files of
``config/``. ``storefmt.offline.views.parts`` counts the contents of other databases.
"""
