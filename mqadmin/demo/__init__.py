"""The guided tour of ``mqadmin demo``.

    tour.py      the steps: what they explain and what they run, and the damage at the end
    traffic.py   the programs that are watched: a producer and members of a group, a process each

Enter here: :func:`mqadmin.demo.tour.run`. Leave: lines of the shell, run as a user would type them.
"""
