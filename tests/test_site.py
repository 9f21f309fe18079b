"""The documents as a site: `make site` builds it, and it fetches nothing from elsewhere."""

import re
import sys
from pathlib import Path

import pytest

from tests.browser import drawn
from tests.programs import ran

FETCHED = re.compile(
    r"""<(?:script|img|iframe|link\b(?![^>]*rel="?canonical))[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>
      | url\(["']?(?:https?:)?//[^)]*\)""",
    re.VERBOSE,
)
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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["index", "howto/find-a-lost-message/index", "cli/index"])
def test_a_real_browser_draws_a_page_without_a_complaint(
    site: Path, tmp_path: Path, name: str, dark: bool
) -> None:
    document = drawn(site / f"{name}.html", tmp_path, dark=dark)

    scheme = "slate" if dark else "default"
    assert f'data-md-color-scheme="{scheme}"' in document
    assert (tmp_path / "page.png").stat().st_size > 20_000
