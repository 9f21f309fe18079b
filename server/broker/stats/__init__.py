"""What a broker counts, for `mqadmin` and for the real console.

Counts of messages and bytes come in; totals, rates and percentiles go out. Start with
``counters.Statistics``.
"""
