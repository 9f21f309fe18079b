"""What can be changed on a server: each target can be read, written, kept and put back.

    ChangeTarget         read()             write(value | None)        kept in the journal as
    TopicTarget          TopicConfig        create, replace, delete    Java's json
    GroupTarget          SubscriptionGroup  create, replace, delete    Java's json
    OffsetTarget         queue offset       store                      number
    BrokerSettingTarget  text               set                        text
    ...

Rule: one class a kind, named by ``kind``, and nothing else knows how its target is read and
written: the commands plan with it (``mqadmin.changes.write``), and `undo` puts back with it.
"""
