"""Rows as text: table, json, jsonl, yaml, msgpack, csv and name.

    row (frozen dataclass) --columns--> record (name -> value) --printer--> standard output

    terminal/    what a person sees, drawn by rich
    pages/       pages of HTML
    compat/      the layouts of RocketMQ's own tool

Rule: standard output has only data; numbers stay plain; a pipe gets the same table as a terminal,
without colour and uncut. ``yaml`` and ``msgpack`` are imported on
demand, so a table or json needs neither.
"""
