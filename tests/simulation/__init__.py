"""A deterministic simulation of a group of brokers with its controllers.

    world        time, processes with clocks of their own, coroutines driven by hand
    network      connections that keep their order, partitions, resets
    controllers  the real handlers, rules and groups over one simulated store
    disk         a log with a part that is not synced, and the files of a group
    replica      the real role machine, and what its broker does for it
    copying      the real frames between master and slave
    faults       what goes wrong in a run, as a plan that can be cut down
    observer     sees everything, and checks it after every event
    simulation   one seed, one run; and the shortest plan that still fails

Rule: a run depends on its seed and its plan alone. Nothing here has a socket, a thread, an event
loop or a real clock.
"""
