"""The store: what the flows remember, behind one object.

A thin entry. Rows go through ``writer.py`` and ``journal.py``, the file is opened by ``lease.py`` (or a server's by
``quack.py``), and what the tables and views are stands in ``records.py`` and ``views.py``.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import polars as pl
import pyarrow as pa

from storage.blobs import Blobs
from storage.errors import StoreDamaged, StoreError
from storage.keys import content_hash
from storage.lease import FileLease
from storage.quack_client import Address, QuackLease, parse_address
from storage.records import TableRecord, Text
from storage.schema import NotStorable, table_of
from storage.session import Frames, Lease, Session
from storage.texts import TextCache
from storage.views import BEST_FIRST, best, settled
from storage.writer import Writer

R = TypeVar("R", bound=TableRecord)

class Store:
    """A store. Share one per process (``open_store`` does); every method may be called from any thread."""

    def __init__(self, lease: Lease, blobs: str, url: str) -> None:
        """Opens it once, so that whatever is wrong with it is said before any work is done."""
        self.url = url
        """Opens the same store in another process."""
        self.lease = lease
        self._texts = TextCache()
        self._writer = Writer(lease)
        self.blobs = Blobs(blobs, self.append)
        self._closed = False
        self._held = threading.local()
        try:
            with self.session():
                pass
        except BaseException:
            self._writer.close()
            raise

    def append(self, *records: TableRecord) -> None:
        """Remembers records: journalled (safe from kill -9) when this returns, committed within about a second.

        Raises:
            NotStorable: when a record holds a value no row can hold; then none of these records is stored.
            StoreError: for a full disk, or an earlier failure of the writer.
        """
        self._refuse_while_held("append")
        if records:
            self._writer.append([(record.table, table_of(type(record)).encode(record)) for record in records])

    def flush(self) -> None:
        """Returns when everything appended so far is committed.

        Raises:
            StoreError: when it could not be; the rows stay in the journal.
        """
        self._refuse_while_held("flush")
        self._writer.flush()

    def query(self, sql: str, params: Sequence[object] = (), *, frames: Frames | None = None) -> pl.DataFrame:
        """Asks the tables and views; sees everything appended before.

        Args:
            sql: one SELECT (it cannot change anything), with ``?`` for parameters.
            params: their values.
            frames: tables of the caller by the name the SQL calls them.

        Returns:
            The answer; moments in UTC.

        Raises:
            StoreError: when the store cannot be opened.
            duckdb.Error: when the SQL is wrong.
        """
        return pl.DataFrame(pl.from_arrow(self._ask(sql, params, frames or {})))

    def load(self, record_type: type[R], keys: Iterable[str] | None = None, *, view: bool = True) -> list[R]:
        """Rows as records.

        Args:
            record_type: the record's class.
            keys: only these; None is all. Tables of texts and blobs have their hash as key.
            view: only the row that counts for each key (where the table has such a view), else every row; oldest first.

        Raises:
            StoreDamaged: when a row is no record any more.
        """
        table = table_of(record_type)
        key = "hash" if any(column.name == "hash" for column in table.columns) else "key"
        frames = {} if keys is None else {"wanted": pa.table({"key": pa.array(list(dict.fromkeys(keys)), pa.string())})}
        if view and table.name in BEST_FIRST:
            sql = best(table.name, "wanted" if frames else None)
        else:
            sql = f"SELECT * FROM {table.name}" + (f" WHERE {key} IN (SELECT key FROM wanted)" if frames else "")
        rows = self._ask(f'SELECT * FROM ({sql}) ORDER BY "at"', (), frames).to_pylist()
        try:
            return [record_type.model_validate(table.decode(row)) for row in rows]
        except ValueError as error:
            raise StoreDamaged(f"{self.url}: a row of {table.name} is not a {record_type.__name__}: {error}") from error

    def missing(self, table: str, keys: Sequence[str], *, retry: Collection[str] = ()) -> list[str]:
        """Which of the wanted keys are not settled, in their order, each once: one anti-join.

        A call or judgement is settled by an answer, or by a failure that would come again (outcomes not in
        ``vocabulary.TRANSIENT``); a step by ``done`` or ``excluded``; of other tables any row settles its key.

        Args:
            table: the table that would hold the outcome.
            keys: wanted keys.
            retry: outcomes (of steps: reasons) that settle nothing this time.

        Raises:
            ValueError: for a table without keys.
        """
        if table not in BEST_FIRST:
            raise ValueError(f"{table!r} is no table with keys; these are: {', '.join(BEST_FIRST)}")
        wanted = pa.table({"key": pa.array(list(dict.fromkeys(keys)), pa.string())})
        left = self._ask(f"SELECT key FROM wanted WHERE key NOT IN ({settled(table, retry)})", (), {"wanted": wanted})
        open_keys = set(left.column("key").to_pylist())
        return [key for key in dict.fromkeys(keys) if key in open_keys]

    def put_text(self, text: str) -> str:
        """Stores a text, once, and returns its hash.

        Raises:
            NotStorable: for a text with lone surrogates, which is no Unicode text.
        """
        name = content_hash(text)
        self._texts.put(name, text)
        if name not in self._texts.stored:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise NotStorable(f"the text is not valid Unicode: {error}") from error
            self.append(Text(hash=name, text=text))
            self._texts.stored.add(name)
        return name

    def get_text(self, name: str) -> str:
        """A text by its hash.

        Raises:
            StoreDamaged: when it is not there, or is not what its name says.
        """
        return self.get_texts([name])[name]

    def get_texts(self, names: Iterable[str]) -> dict[str, str]:
        """Texts by their hashes, in one query.

        Raises:
            StoreDamaged: when one is not there, or is not what its name says.
        """
        wanted = list(dict.fromkeys(names))
        found = {name: text for name in wanted if (text := self._texts.get(name)) is not None}
        absent = [name for name in wanted if name not in found]
        if absent:
            frame = pa.table({"hash": pa.array(absent, pa.string())})
            rows = self._ask("SELECT hash, any_value(text) AS text FROM texts WHERE hash IN (SELECT hash FROM wanted) "
                             "GROUP BY hash", (), {"wanted": frame}).to_pylist()
            stored = {row["hash"]: row["text"] for row in rows}
            found |= {name: self._checked(name, stored.get(name)) for name in absent}
        return found

    def _checked(self, name: str, text: str | None) -> str:
        if text is None:
            raise StoreDamaged(f"{self.url}: the text {name} is gone: `evenhand verify --repair` has it made again")
        if content_hash(text) != name:
            raise StoreDamaged(f"{self.url}: the text {name} is not what its name says: `evenhand verify --repair` "
                               "sets it aside and has it made again")
        self._texts.put(name, text)
        self._texts.stored.add(name)
        return text

    def forget(self) -> None:
        """Forgets what this process believes is stored (after rows were set aside)."""
        self._texts = TextCache()

    def close(self) -> None:
        """Commits everything and closes; the next ``open_store`` opens anew.

        Raises:
            StoreError: when rows could not be committed; they stay in the journal and are folded in later.
        """
        with _GUARD:
            for name in [name for name, store in _OPEN.items() if store is self]:
                del _OPEN[name]
        self._closed = True
        self._writer.close()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The open store with everything of ours committed, for ``verify.py`` and ``commit.py``. Keep it short.

        Raises:
            StoreError: when it cannot be opened, or rows cannot be committed.
        """
        if self._closed:
            raise StoreError(f"{self.url}: the store was closed: open it again")
        held: Session | None = getattr(self._held, "session", None)
        if held is not None:
            self._writer.commit(held)
            yield held
            return
        with self.lease.session() as session:
            self._writer.commit(session)
            yield session

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several questions of this thread under one lease: opening the file is most of what a small one takes.

        For reading, and for a moment: nobody else, not even our own writer, has the store meanwhile.

        Raises:
            StoreError: as ``session``.
        """
        with self.session() as session:
            before, self._held.session = getattr(self._held, "session", None), session
            try:
                yield
            finally:
                self._held.session = before

    def _refuse_while_held(self, what: str) -> None:
        """The writer may wait for the lease that this thread holds, and this thread would wait for the writer."""
        if getattr(self._held, "session", None) is not None:
            raise RuntimeError(f"{what} inside together() could wait for itself: do it before or after")

    def _ask(self, sql: str, params: Sequence[object], frames: Frames) -> pa.Table:
        with self.session() as session:
            return session.ask(sql, params, frames)


_OPEN: dict[str, Store] = {}
_GUARD = threading.RLock()


def open_store(url: str | Path, *, blobs: str | None = None) -> Store:
    """The store at a URL: one shared object per process and URL.

    Args:
        url: a path or ``duckdb:///abs/path`` (folders are made as needed), or ``quack://host:port?token_env=NAME``.
        blobs: fsspec URL of the blob folder; by default it lies beside the file.

    Raises:
        StoreHeld, StoreTooNew, StoreDamaged, StoreError: when it cannot be used as it is.
        EnvironmentProblem: when an optional extra or a variable it needs is missing.
    """
    address = parse_address(str(url)) if str(url).startswith("quack://") else None
    name = address.uri if address else str(_path(str(url)))
    with _GUARD:
        if name not in _OPEN:
            if address:
                _OPEN[name] = Store(QuackLease(address), _served_blobs(address, blobs), str(url))
            else:
                _OPEN[name] = Store(FileLease(Path(name)), blobs or name + ".blobs", name)
        store = _OPEN[name]
    if blobs and blobs != store.blobs.url:
        raise StoreError(f"{name}: open in this process with its blobs in {store.blobs.url}, not in {blobs}")
    return store


def _served_blobs(address: Address, blobs: str | None) -> str:
    place = blobs or address.blobs
    if place is None:
        raise StoreError(f"{address.uri}: it needs a blob folder that all its clients reach: add ?blobs=URL")
    return place


def _path(url: str) -> Path:
    if url.startswith("duckdb://"):
        parts = urlsplit(url)
        if parts.netloc:
            raise StoreError(f"{url}: write an absolute path as duckdb:///path")
        return Path(unquote(parts.path)).resolve()
    if "://" in url:
        raise StoreError(f"{url}: no such kind of store: use a path, duckdb:///path or quack://host:port")
    return Path(url).expanduser().resolve()


@atexit.register
def close_all() -> None:
    """Closes every open store; at the end of the process this happens by itself."""
    with _GUARD:
        stores = list(_OPEN.values())
    with ExitStack() as stack:
        for store in stores:
            stack.callback(store.close)
