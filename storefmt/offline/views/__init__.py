"""Read-only views of an opened store: its files, its log, its queues, its index and config.

The path of a store directory enters; records, entries and summaries leave, and damage is an
item or an error that names the file and the byte. Nothing here verifies or changes a store.
Start with ``storedir.StoreDir``, then read ``store_view``, which puts the views together.
"""
