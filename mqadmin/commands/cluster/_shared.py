"""What ``cluster list`` and ``cluster status`` share."""

from mqadmin.cluster.server_tables import BrokerCounts


def fields_of_both(counts: BrokerCounts) -> dict[str, object]:
    """Return the fields that the rows of ``cluster list`` and ``cluster status`` both have."""
    return {
        "version": counts.counts.get("brokerVersionDesc"),
        "in_today": counts.between("msgPutTotalTodayMorning", "msgPutTotalTodayNow"),
        "out_today": counts.between("msgGetTotalTodayMorning", "msgGetTotalTodayNow"),
        "in_yesterday": counts.between("msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning"),
        "out_yesterday": counts.between("msgGetTotalYesterdayMorning", "msgGetTotalTodayMorning"),
        "disk_ratio": counts.average("commitLogDiskRatio"),
        "page_cache_lock_ms": counts.number("pageCacheLockTimeMills"),
        "error": counts.error,
    }
