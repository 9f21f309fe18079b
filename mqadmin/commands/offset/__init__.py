"""Commands about the offsets that consumer groups have committed: show, move and copy them.

``move.py`` resets a group or skips messages, with or without live members; ``copies.py`` clones
offsets to another group and saves them in files. All changes go through ``mqadmin.changes``.
"""
