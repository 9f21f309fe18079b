"""How requests of one turn of the event loop become one write and then their answers.

Frames that were read come in; ``group_commit`` stores what they put with one write and one
sync, and answers leave as bytes. ``cold_reads`` moves reads of the disk to threads,
``overload`` refuses early. Start with ``group_commit.Turn``.
"""
