"""Rows as text: table, json, jsonl, yaml, msgpack, csv and name.

    row (frozen dataclass) --columns--> record (name -> value) --printer--> standard output

    terminal/    what a person sees, drawn by rich
    pages/       pages of HTML
    compat/      the layouts of RocketMQ's own tool

Rule: data only on standard output; numbers stay plain; a pipe gets the same table as a
terminal, without colour and without cutting. ``yaml`` and ``msgpack`` are imported when
asked for, so that a table or json needs neither.
"""
