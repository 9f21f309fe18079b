"""Topics, groups and accounts as a document: what ``export``, ``diff`` and ``apply`` share.

``declared.py`` is the document and how two of them differ; ``sources.py`` reads one from a file,
from a cluster or from another context; ``export_documents.py`` writes the three documents of the
Java tool.
"""
