"""Read a store directory for commands that otherwise ask servers, and start jobs of the pipeline.

``offline.py`` gives the rows of the online commands from a directory; the codecs, the checks and
the repairs themselves are those of ``storefmt``. ``spark_job.py`` starts a job of the pipeline as
a process of its own.
"""
