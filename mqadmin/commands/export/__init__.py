"""Commands that write what a cluster is configured to be into files.

``export.py`` writes a YAML document for `diff` and `apply` (``mqadmin.manifest``); ``java.py``
writes the JSON files of the Java tool, under the Java tool's names.
"""
