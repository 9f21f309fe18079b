"""The live view of a cluster: ``mqadmin top`` on the whole screen, and ``report`` as a page.

``sample.py`` asks the servers and compares two samples; ``view.py`` decides what is shown and what
a key does, without a terminal; ``screen.py`` draws it. ``page.py`` makes an HTML page of the same
samples. Start with ``sample.py``.
"""
