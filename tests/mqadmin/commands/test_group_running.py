"""Stacks of a member's threads, as a table shows them."""

from mqadmin.commands.group.running import stack_lines

JAVA = (
    "ConsumeMessageThread_1                  TID: 42 STATE: TIMED_WAITING\n"
    "ConsumeMessageThread_1                  java.lang.Thread.sleep(Native Method)\n"
    "ConsumeMessageThread_1                  PushConsumer.consume(PushConsumer.java:7)\n"
    "\n"
    "AaThread                                TID: 7 STATE: RUNNABLE\n"
    "AaThread                                java.net.Socket.read(Socket.java:1)\n"
    "\n"
)


def test_threads_of_java_stand_by_name_with_their_frames() -> None:
    assert stack_lines("c1", JAVA) == [
        "",
        "threads of c1",
        "  AaThread (RUNNABLE)",
        "    java.net.Socket.read(Socket.java:1)",
        "  ConsumeMessageThread_1 (TIMED_WAITING)",
        "    java.lang.Thread.sleep(Native Method)",
        "    PushConsumer.consume(PushConsumer.java:7)",
    ]


def test_a_member_without_stacks_has_no_lines() -> None:
    assert stack_lines("c1", None) == stack_lines("c1", "") == []
