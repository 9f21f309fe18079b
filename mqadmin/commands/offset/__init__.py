"""Commands about the offsets that consumer groups have committed: show, move and copy them.

``reset`` and ``skip`` move a group, with or without live members; ``clone`` copies offsets to
another group; ``export`` and ``import`` keep them in files. Changes go through ``mqadmin.changes``.
"""
