"""``store report``: the page, looked at by a program and by a real browser."""

import html.parser
import re
import shutil
from pathlib import Path

import pytest

from mqadmin.output.pages.charts import Bar, bars, safe
from tests.browser import drawn
from tests.golden import Golden
from tests.mqadmin.commands.offline import run

PICTURES = 5


class Page(html.parser.HTMLParser):
    """Collects the tags, their attributes and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(store: Path, path: Path, exit_code: int = 0) -> Page:
    ran = run("store", "report", store, "--html", path)
    assert ran.exit_code == exit_code, ran.err
    page = Page(path.read_text())
    assert page.open == []
    return page


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "v5"])
def test_page_has_its_pictures_and_needs_nothing_else(
    golden: Golden, tmp_path: Path, name: str
) -> None:
    page = page_of(golden.store(name), tmp_path / "r.html")

    # No group has read from that store, so there is no lag to draw.
    wanted = PICTURES - 1 if name == "retention" else PICTURES
    assert sum(tag == "svg" for tag, _ in page.tags) == wanted
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "a"}
    for _, attributes in page.tags:
        assert not {"href", "src", "onload", "onclick"} & set(attributes)
    assert "url(" not in (tmp_path / "r.html").read_text()
    assert "no damage found" in page.text


def test_damage_is_in_the_table_and_on_the_map(golden: Golden, tmp_path: Path) -> None:
    page = page_of(golden.damaged("07-zero-page-early"), tmp_path / "r.html", exit_code=6)

    assert re.search(r"[1-9]\d* errors?", page.text)
    marks = [attributes for tag, attributes in page.tags if attributes.get("class") == "error"]
    assert marks
    assert all(tag == "rect" for tag, attributes in page.tags if attributes in marks)
    assert "what to do" in page.text


def test_an_empty_store_has_a_page(ipv6: Path, tmp_path: Path) -> None:
    for place in ("commitlog", "consumequeue", "index", "config"):
        shutil.rmtree(ipv6 / place)
        (ipv6 / place).mkdir()

    page = page_of(ipv6, tmp_path / "r.html")

    assert "the log has no messages" in page.text


def test_names_are_text_and_never_markup(ipv6: Path, tmp_path: Path) -> None:
    evil = '<script>alert(1)</script>"\x1b[31m'
    (ipv6 / "consumequeue" / "<img src=x onerror=alert(1)>" / "0").mkdir(parents=True)
    (ipv6 / "config" / "consumerOffset.json").write_text(
        '{"offsetTable":{"<b>topic</b>@<script>alert(1)</script>":{0:5}}}'
    )

    run("store", "report", ipv6, "--html", tmp_path / "r.html")

    text = (tmp_path / "r.html").read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "<b>topic" not in text
    assert "\x1b" not in safe(evil) + bars("t", [Bar(evil, 1.0, evil)])
    assert "<script" not in safe(evil) + bars(evil, [Bar(evil, 1.0, evil)])


def test_nothing_is_written_over_or_into_the_store(golden: Golden, tmp_path: Path) -> None:
    store, path = golden.store("ipv6"), tmp_path / "r.html"
    path.write_text("mine")

    first = run("store", "report", store, "--html", path)
    inside = run("store", "report", store, "--html", store / "r.html")

    assert (first.exit_code, inside.exit_code) == (2, 2)
    assert path.read_text() == "mine"
    assert run("store", "report", store, "--html", path, "--replace").exit_code == 0
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_real_browser_draws_it_without_a_complaint(
    golden: Golden, tmp_path: Path, dark: bool
) -> None:
    page_of(golden.damaged("07-zero-page-early"), tmp_path / "r.html", exit_code=6)

    document = drawn(tmp_path / "r.html", tmp_path, dark=dark)

    assert sum(tag == "svg" for tag, _ in Page(document).tags) == PICTURES
    assert re.search(r"<title>RocketMQ store [^<]+</title>", document)
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_a_long_label_is_squeezed_into_its_column() -> None:
    drawn = bars("t", [Bar("n" * 60, 1.0, "1"), Bar("short", 0.5, "1")])

    long, short = re.findall(r'<text class="label"[^>]*>', drawn)
    assert 'textLength="246"' in long
    assert "textLength" not in short
