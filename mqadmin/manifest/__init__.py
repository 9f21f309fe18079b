"""Topics, groups and accounts as a document, for ``export``, ``diff`` and ``apply``.

``declared.py`` has the document and compares two of them; ``sources.py`` reads one from a file,
from a cluster or from another context.
"""
