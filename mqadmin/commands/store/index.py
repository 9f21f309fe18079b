"""``store index``: the entries of the index files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from storefmt.errors import StoreError
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which files."""

    file: Annotated[str | None, argument("name of one file; all of them if left out")] = None
    limit: Annotated[int | None, option("so many of each file at most", short="c")] = None


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
    "list the entries of the index files",
    examples=(("mqadmin store index DIR --limit 10", "the first ten of each file"),),
    rows=IndexRow,
    needs=Needs.STORE,
)
def list_index(call: Call, args: Arguments) -> Outcome:
    """Return one row an entry, file by file.

    Raises:
        NotFound: there is no such file.
    """
    store = StoreDir.open(call.store_dir)
    views = [
        view for view in store.index_files if args.file in (None, view.name, view.span.path.name)
    ]
    if not views and args.file is not None:
        raise NotFound(f"no index file {args.file} in {store.root}", hint="`store ls` lists them")
    return Outcome(_rows(call, args, store, views))


def _rows(
    call: Call, args: Arguments, store: StoreDir, views: list[IndexView]
) -> Iterator[IndexRow]:
    with store:
        for view in views:
            try:
                end = view.entry_count
            except StoreError as error:
                call.warn(f"{view.name}: {error}")
                continue
            last = end if args.limit is None else min(end, 1 + args.limit)
            for number, entry in view.entries():
                if number >= last:
                    break
                yield IndexRow(file=view.name, entry=number, **entry._asdict())
