"""The command line of the jobs: arguments enter, rows leave as lines of JSON.

``python -m mqspark`` runs the jobs over stores, ``python -m mqspark.cli.live_jobs`` those that
talk to brokers. Progress, plans and errors leave on standard error.

Start reading with ``process.py``; ``registry.py`` has a line for each job.
"""
