"""The guided tour of ``mqadmin demo``.

    tour.py      the steps: what they explain and what they run, and the damage at the end
    traffic.py   the programs that are watched: a producer and members of a group, a process each

Start with `run_tour` in ``tour.py``, which runs lines of the shell as a user would type them.
"""
