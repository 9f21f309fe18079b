"""What ``cluster list`` and ``cluster status`` share."""

from mqadmin.cluster.server_tables import BrokerCounts


def fields_of_both(told: BrokerCounts) -> dict[str, object]:
    """Return the fields that the rows of ``cluster list`` and ``cluster status`` both have."""
    return {
        "version": told.counts.get("brokerVersionDesc"),
        "in_today": told.between("msgPutTotalTodayMorning", "msgPutTotalTodayNow"),
        "out_today": told.between("msgGetTotalTodayMorning", "msgGetTotalTodayNow"),
        "in_yesterday": told.between("msgPutTotalYesterdayMorning", "msgPutTotalTodayMorning"),
        "out_yesterday": told.between("msgGetTotalYesterdayMorning", "msgGetTotalTodayMorning"),
        "disk_ratio": told.average("commitLogDiskRatio"),
        "page_cache_lock_ms": told.number("pageCacheLockTimeMills"),
        "error": told.error,
    }
