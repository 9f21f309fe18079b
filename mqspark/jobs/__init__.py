"""The jobs over stores and archives, one module each.

A job is a function that takes store directories and returns rows, once with Spark and once in this
process; both divide the work in the same way and give the same rows.

Start reading with ``stats.py``, the shortest.
"""
