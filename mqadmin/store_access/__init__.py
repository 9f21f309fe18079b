"""What commands need in order to read a store directory, and to start the jobs of the pipeline.

``stored_rows.py`` gives the rows of the online commands from a directory, ``follow_log.py`` those
of a log that a broker still writes. ``analysis_rows.py`` has the rows that a ``store`` command and
the job of the same name both print, and ``spark_job.py`` starts a job as a process. The codecs,
checks and repairs are those of ``storefmt``.
"""
