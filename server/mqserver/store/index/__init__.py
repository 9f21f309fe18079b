"""The message index: log offsets by topic and key, in files of 5,000,000 slots.

Keys of new records go in and log offsets come out. At a start, ``usable_files`` decides
which files on disk still agree with the log. Start with ``index.Index``, then
``index_file`` for the bytes of one file.
"""
