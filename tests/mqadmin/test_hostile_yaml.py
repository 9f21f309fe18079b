"""Documents of ``apply`` and ``diff`` that were made to hurt: refused in a few words."""

from pathlib import Path

import pytest

from tests.mqadmin.conftest import Run

LEVELS = 30


def laughing(inner: str) -> str:
    """Return a list in which each level repeats the one before nine times: 9 ** 30 values."""
    lines = [f"  - &a0 {inner}"]
    lines += [f"  - &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, LEVELS)]
    return "topics:\n" + "\n".join(lines) + "\n"


REFUSED = {
    "a Python call": (
        'topics:\n  a: !!python/object/apply:os.system ["touch PWNED"]\n',
        "could not determine a constructor for the tag",
    ),
    "a Python name": ("topics: !!python/name:os.system\n", "could not determine a constructor"),
    "a billion laughs": (laughing("[x, x, x, x, x, x, x, x, x]"), "more than 1000000 values"),
    "an alias of itself": ("topics: &a\n  t: *a\n", "contains itself"),
    "a deep nest": ("topics: " + "[" * 5_000, "nested deeper than 50"),
    "an anchor that is not there": ("topics: *a\n", "undefined alias"),
    "a topic that appears twice": (
        "topics:\n  a: {'*': {perm: R--}}\n  a: {'*': {perm: RW-}}\n",
        "'a' appears twice in the mapping at line 2",
    ),
    "a setting that appears twice": (
        "topics:\n  a: {'*': {perm: R--, perm: RW-}}\n",
        "'perm' appears twice",
    ),
    "a name that YAML reads as a truth": ("topics:\n  no: {'*': {perm: R--}}\n", "in quotes"),
    "a list of lists": ("topics:\n" + "  - [x]\n" * 500, "expected names"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_document_that_was_made_to_hurt_is_refused_in_a_few_words(
    run: Run, tmp_path: Path, name: str
) -> None:
    text, said = REFUSED[name]
    file = tmp_path / "cluster.yaml"
    file.write_text(text.replace("PWNED", str(tmp_path / "pwned")))

    done = run("apply", str(file), "--namesrv", "127.0.0.1:1")

    assert done.exit_code == 2
    assert said in done.err
    assert len(done.err) < 1_000
    assert not (tmp_path / "pwned").exists()


def test_aliases_of_a_plain_document_are_read(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    same = "topics:\n  a: &same\n    '*': {perm: R--}\n  b: *same\n  c:\n    <<: *same\n"
    file.write_text(same)
    (tmp_path / "spelled.yaml").write_text(
        "topics:\n" + "".join(f"  {name}:\n    '*': {{perm: R--}}\n" for name in "abc")
    )

    done = run("diff", str(file), str(tmp_path / "spelled.yaml"))

    assert done.exit_code == 0
    assert "are equal" in done.err
