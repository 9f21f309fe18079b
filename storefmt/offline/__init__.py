"""Offline tools: a store directory is opened read-only and examined without a broker.

The path of a store enters; views, findings, repaired copies and answers leave. ``views`` opens
and reads, ``verify`` judges, ``repair`` writes new directories, ``analyse`` answers questions.
Start with ``StoreDir`` and ``verify``, which are importable from here.
"""

from storefmt.offline.verify.findings import Finding, Report, Severity
from storefmt.offline.verify.store import verify
from storefmt.offline.views.log_scan import Blank, Damage, End, LogItem
from storefmt.offline.views.storedir import StoreDir

__all__ = [
    "Blank",
    "Damage",
    "End",
    "Finding",
    "LogItem",
    "Report",
    "Severity",
    "StoreDir",
    "verify",
]
