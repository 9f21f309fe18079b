"""A store directory opened read-only: views, queries and verification, without a broker."""

from storefmt.offline.findings import Finding, Report, Severity
from storefmt.offline.storedir import StoreDir
from storefmt.offline.verify import verify
from storefmt.offline.walk import Blank, Damage, End, LogItem

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
