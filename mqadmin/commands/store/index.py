"""``store index``: list the entries of the index files."""

from collections.abc import Iterator
from dataclasses import dataclass

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.decorators import limit_option
from mqadmin.errors import ItemNotFound
from storefmt.errors import StoreError
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow(Row):
    """One entry; ``previous`` is the next older entry of its chain, 0 for none."""

    file: str
    entry: int
    key_hash: int
    log_offset: int
    time_diff_s: int
    previous: int


@command(
    "store index",
    examples=(("mqadmin store index DIR --limit 10", "the first ten of each file"),),
    rows=IndexRow,
    needs=Needs.STORE,
)
@argument("file", required=False, help="name of one file; all of them if left out")
@limit_option(help="largest number of entries of each file")
def list_index(call: Call, *, file: str | None, limit: int | None) -> Outcome:
    """Return one row for each entry, file by file.

    Raises:
        ItemNotFound: the file does not exist.
    """
    store = StoreDir.open(call.store_dir)
    views = [view for view in store.index_files if file in (None, view.name, view.span.path.name)]
    if not views and file is not None:
        raise ItemNotFound(f"no index file {file} in {store.root}", hint="`store ls` lists them")
    return Outcome(_index_rows(call, limit, store, views))


def _index_rows(
    call: Call, limit: int | None, store: StoreDir, views: list[IndexView]
) -> Iterator[IndexRow]:
    with store:
        for view in views:
            try:
                end = view.entry_count
            except StoreError as error:
                call.warn(f"{view.name}: {error}")
                continue
            last = end if limit is None else min(end, 1 + limit)
            for number, entry in view.entries():
                if number >= last:
                    break
                yield IndexRow(file=view.name, entry=number, **entry._asdict())
