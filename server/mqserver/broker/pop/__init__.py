"""POP: consumers take messages from queues that no member owns, and acknowledge each one.

A pop reads a queue from the group's offset on, notes what it gave out in the revive log, and hides
these messages for a while. What is not acknowledged by then goes to the retry topic of the group.

    popper         carries out the plan of a pop, and holds a pop that finds no message
    planning       reads the queues for a pop
    checkpoints    the records of the revive log: what was given out, what was acknowledged
    open_pops      the table of checkpoints with messages that are not acknowledged
    revive         follows the revive log, and revives what was not acknowledged in time
    pop_check      checks that pops and acknowledgements have in common
    order          queues that are popped in order, one batch at a time
    modes          which groups pop
    waiting        pops that wait for messages

Requests enter; answers leave, and so do records of the revive log, which replication and recovery
treat like any others. Start reading at ``popper``.
"""
