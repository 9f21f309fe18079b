"""The documents as a site: `make site` builds it, and it fetches nothing from elsewhere."""

import re
import sys
from pathlib import Path

import pytest

from docs.site import linked_text
from tests.browser import drawn
from tests.golden import REPOSITORY
from tests.programs import ran

FETCHED = re.compile(
    r"""<(?:script|img|iframe|link\b(?![^>]*rel="?canonical))[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>
      | url\(["']?(?:https?:)?//[^)]*\)""",
    re.VERBOSE,
)
MEASURE = """
const broken = [...document.querySelectorAll("td code")].filter(
  one => !/[\\s]/.test(one.textContent) && one.getClientRects().length > 1);
const wide = document.documentElement.scrollWidth > window.innerWidth ? 1 : 0;
document.body.dataset.measured =
  `${broken.length} ${wide} ${document.querySelectorAll("code").length}`;
"""
"""Counts names in tables that stand on more than one line, and a page wider than the window."""
PAGES = ("index", "tour/index", "zh/index", "howto/index", "cli/index", "api/index", "wire/index")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site. With --strict a missing page, link or heading is an error."""
    made = tmp_path_factory.mktemp("site") / "site"
    ran("make", "-s", "site", f"SITE={made}", f"PYTHON={sys.executable}")
    return made


def test_make_site_builds_every_page_and_none_fetches_from_another_host(site: Path) -> None:
    assert [name for name in PAGES if not (site / f"{name}.html").exists()] == []
    fetched = {
        found
        for suffix in ("html", "css")
        for path in site.rglob(f"*.{suffix}")
        for found in FETCHED.findall(path.read_text())
    }
    assert fetched == set()


def test_names_of_pages_become_links_and_blocks_stay_as_they_are(tmp_path: Path) -> None:
    page = REPOSITORY / "docs" / "page.md"
    places = {REPOSITORY / "docs" / name: Path(name) for name in ("page.md", "wire.md")}
    places[REPOSITORY / "README.md"] = Path("index.md")
    text = """\
See docs/wire.md, wire.md and `docs/wire.md`; README.md.
[The wire](wire.md#codes), not `cat docs/wire.md`, not [x](https://e.org/wire.md), not page.md.
```
less docs/wire.md
```
"""

    assert (
        linked_text(text, page, places)
        == """\
See [docs/wire.md](wire.md), [wire.md](wire.md) and [docs/wire.md](wire.md); [README.md](index.md).
[The wire](wire.md#codes), not `cat docs/wire.md`, not [x](https://e.org/wire.md), not page.md.
```
less docs/wire.md
```
"""
    )


@pytest.mark.parametrize("name", ["settings/index", "cli/index", "security/index"])
def test_keys_stay_whole_and_tables_scroll_on_a_phone(
    site: Path, tmp_path: Path, name: str
) -> None:
    # The page reports what it measures as its title.
    page = site / f"{name}.html"
    (site / name).parent.joinpath("phone.html").write_text(
        page.read_text().replace("</body>", f"<script>{MEASURE}</script></body>")
    )

    document = drawn((site / name).parent / "phone.html", tmp_path, width=390)

    measured = re.search(r'data-measured="(\d+) (\d+) (\d+)"', document)
    assert measured is not None
    broken, wider, count = map(int, measured.groups())
    assert (broken, wider) == (0, 0)
    assert count > 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["index", "howto/find-a-lost-message/index", "cli/index"])
def test_a_real_browser_draws_a_page_without_a_complaint(
    site: Path, tmp_path: Path, name: str, dark: bool
) -> None:
    document = drawn(site / f"{name}.html", tmp_path, dark=dark)

    scheme = "slate" if dark else "default"
    assert f'data-md-color-scheme="{scheme}"' in document
    assert (tmp_path / "page.png").stat().st_size > 20_000
