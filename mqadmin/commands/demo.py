"""``demo``: show a guided tour on servers, producers and consumers of its own."""

from mqadmin.cli.declare import Call, Needs, Outcome, command


@command(
    "demo",
    examples=(
        ("mqadmin demo", "step by step; press Enter to continue"),
        ("mqadmin demo </dev/null", "from beginning to end, without a pause"),
    ),
    details="The tour starts a name server, a broker, a producer and three members of a group, "
    "of which one is slow and one dies, and shows them with `top`, `group lag`, `lock list` and "
    "`rebalance watch`. Then it damages a store and repairs it. Everything is removed afterwards.",
    needs=Needs.NONE,
)
def demo(call: Call) -> Outcome:
    """Run the steps."""
    # Lists of commands need neither the shell nor the client.
    from mqadmin.demo.tour import run_tour

    run_tour(call)
    return Outcome(())
