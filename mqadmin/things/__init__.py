"""What can be changed on a server: each thing can be read, written, kept and put back.

    Thing          read()            write(value | None)        kept in the journal as
    TopicThing     TopicConfig       create, replace, delete    Java's json
    GroupThing     SubscriptionGroup create, replace, delete    Java's json
    OffsetThing    queue offset      store                      number
    BrokerSetting  text              set                        text
    ...

Rule: one class a kind, named by ``kind``, and nothing else knows how its thing is read and
written: the commands plan with it (``mqadmin.writes``), and `undo` puts back with it.
"""

from mqadmin.things.base import Thing

__all__ = ["Thing"]
