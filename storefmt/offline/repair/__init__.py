"""New stores out of damaged ones: repair, rebuild of queues and index, carving of raw bytes.

An opened store and an ``OutputDirectory`` enter; a new directory and rows that say what was lost or
changed leave. The store that is read is never written. Start with ``repair.repair``, then
read ``rebuild``, which rebuilds queues and index from the log.
"""
