"""Commands on a store directory: what a broker's answers look like when they come from its files.

``offline.py`` gives the rows of the online commands from a directory; the codecs, the checks and
the repairs themselves are those of ``storefmt``. ``spark_job.py`` starts a job of the pipeline as
a process of its own.
"""
