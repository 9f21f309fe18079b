"""What a person sees at a terminal: rich draws it. A pipe imports nothing of this room.

drawing.py     tables, sections, trees and single things
cells.py       one value as one cell: how it is written, in which colour
fitting.py     which columns shrink when the terminal is too narrow
live.py        a view that is drawn over itself
progress.py    the progress of a long command, from the third second on
"""
