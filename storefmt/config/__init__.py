"""The JSON files of a broker's ``config/`` directory, read and written as Java does.

JSON text enters and typed tables leave, and the other way round; fields that a table does not
know are kept and written back. ``fastjson`` is the dialect that both the files and the wire use.
Start with ``tables``: topics, consumer groups and consumer offsets.
"""
