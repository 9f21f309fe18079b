"""What a person sees at a terminal: rich draws it. A pipe imports nothing of this room.

drawing.py     tables, sections, trees and single things
cells.py       one value as one cell: its text and colour
fitting.py     which columns shrink when the terminal is too narrow
live.py        a view that is redrawn in place
progress.py    the progress of a long command, from the third second on
"""
