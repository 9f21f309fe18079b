"""The layouts of the Java tool, for scripts that parse them: ``--compat``.

``layouts.py`` finds the layout of a command; records come in, lines go out, as Java's printf
makes them (``java_text.py``). The other modules have one function per layout, by area.
"""
