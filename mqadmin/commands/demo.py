"""``demo``: show a guided tour on servers, producers and consumers of its own."""

from mqadmin.cli.declare import Call, Needs, Outcome, command


@command(
    "demo",
    examples=(
        ("mqadmin demo", "step by step; Enter goes on"),
        ("mqadmin demo </dev/null", "from beginning to end, without a pause"),
    ),
    details="The tour starts a name server, a broker, a producer and three members of a group, "
    "one of them slow and one that dies, and shows them with `top`, `group lag`, `lock "
    "list` and `rebalance watch`. Then it damages a store and mends it. Everything is "
    "removed afterwards.",
    needs=Needs.NONE,
)
def demo(call: Call) -> Outcome:
    """Run the steps."""
    # Lists of commands need neither the shell nor the client.
    from mqadmin.demo.tour import run

    run(call)
    return Outcome(())
