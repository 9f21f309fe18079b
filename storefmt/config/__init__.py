"""The JSON files of a broker's ``config/`` directory, read and written as Java does.

JSON text enters and typed tables leave, and the other way round; what a table does not know
is kept and written back. ``fastjson`` is the dialect that both the files and the wire use.
Start with ``tables``: topics, consumer groups and consumer offsets.
"""
