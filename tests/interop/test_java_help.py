"""``help NAME`` prints what the real mqadmin of 4.9.7 prints of each of its names."""

from mqadmin.cli.java.descriptions import TEXTS
from mqadmin.session.call import Workplace
from tests.interop.kit.toolbox import Toolbox
from tests.mqadmin.conftest import run_words


def test_help_of_each_name_is_that_of_the_real_tool(toolbox: Toolbox) -> None:
    for name in TEXTS:
        java = toolbox.mqadmin("help", name)

        exact = run_words(("help", name, "--compat"), {}, Workplace())
        ours = run_words(("help", name.lower()), {}, Workplace())

        assert (exact.out, exact.exit_code) == (java.stdout, 0)
        assert ours.out.startswith(java.stdout)
        assert "The same as `" in ours.out
