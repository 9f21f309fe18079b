"""Checks of a cluster's health, and its numbers as metrics.

Facts are gathered first (``checkup_facts.py``) and judged afterwards (``checkup.py``), so that
the rules are tested without servers. ``conditions.py`` serves ``assert`` and ``wait``,
``scrape.py`` and ``metrics.py`` serve the exporter.
"""
