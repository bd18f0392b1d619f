"""The writer: one thread a store that commits what was journalled, in batches.

Rows are in the journal before ``append`` returns. The thread commits them at most 1 s or 256 rows apart, in larger
batches when they come faster. Any thread that has the store open may commit too (a reader sees its own rows that way).
An error of the thread is raised by the next append, unless a later commit mended it; flush and close commit themselves.
Rows that could not be committed stay in the journal and are tried again.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from storage.commit import commit_entries, committed, fold_dead, keep_rejected
from storage.database import explained
from storage.errors import StoreDamaged, StoreError, StoreHeld
from storage.journal import Entry, Journal, read_journal
from storage.schema import PlainRow
from storage.session import Lease, Session

log = logging.getLogger(__name__)

BATCH_ROWS = 256
BATCH_SECONDS = 1.0
MOST_ROWS = 2048
"""The most rows of one transaction, and an eighth of what may wait before an append has to."""
JOURNAL_BYTES = 16 * 2**20
"""A journal longer than this is followed by a new one, so that it can go once it is committed."""
_PAUSE_S = 0.02


@dataclass
class _Segment:
    """A journal of ours and its rows that are not yet in the tables."""

    journal: Journal
    pending: list[Entry] = field(default_factory=list)
    done: int = 0
    """The last sequence that we saw committed."""


class Writer:
    """Journals and commits the rows of one store in this process. Thread-safe."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._segments: list[_Segment] = []
        self._guard = threading.Lock()
        self._changed = threading.Condition(self._guard)
        self._committing = threading.Lock()
        self._waiting = 0
        self._oldest = 0.0
        self._error: Exception | None = None
        """Of the thread's last commit."""
        self._refusal: StoreDamaged | None = None
        self._settled = True
        """Whether everything committed is also in the main file's checkpoint."""
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, rows: list[tuple[str, PlainRow]]) -> None:
        """Journals rows; they are committed soon.

        Raises:
            StoreError: for an earlier failure of the thread, or when these rows could not be journalled.
        """
        with self._guard:
            while self._waiting > 8 * MOST_ROWS and self._error is None and not self._closing:
                self._changed.wait(0.1)
            self._raise_error()
            if self._closing:
                raise StoreError("the store was closed: open it again to write to it")
            if not self._segments or self._segments[-1].journal.size > JOURNAL_BYTES:
                self._segments.append(_Segment(Journal(self._lease.folder)))
            segment = self._segments[-1]
            segment.pending += segment.journal.append(rows)
            if not self._waiting:
                self._oldest = time.monotonic()
            before, self._waiting = self._waiting, self._waiting + len(rows)
            if before == 0 or before < BATCH_ROWS <= self._waiting:
                self._changed.notify_all()

    @property
    def idle(self) -> bool:
        """Whether nothing of ours waits to be committed or checkpointed."""
        return not self._waiting and self._settled

    def commit(self, session: Session, *, batches: int | None = None) -> None:
        """Commits what waits by now, and what dead processes left, in an open store.

        Args:
            session: the open store.
            batches: no more transactions than this, so that others have their turn.

        Raises:
            StoreError: when the store refuses; the rows stay in the journal.
        """
        try:
            with self._committing:
                self._fold(session)
                left, turns = self._waiting, 0
                while left > 0 and turns != batches:
                    left, turns = left - self._commit_some(session), turns + 1
                if not self._settled and session.checkpoint():
                    self._settled = True
                    self._drop_finished()
                self._error = None
        except duckdb.Error as error:
            raise explained(error, self._lease.folder.with_suffix("")) from error
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{self._lease.folder}: {error}: make room or check its permissions; journalled rows are "
                             "kept") from error

    def flush(self) -> None:
        """Commits everything that was appended so far.

        Raises:
            StoreError: when it could not be; the rows stay in the journal.
        """
        if not self.idle:
            with self._lease.session() as session:
                self.commit(session)
        with self._guard:
            self._raise_error()

    def close(self) -> None:
        """Commits everything and lets go of the journals; what could not be committed stays in them.

        Raises:
            StoreError: when something stayed.
        """
        with self._guard:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        try:
            self.flush()
        finally:
            with self._guard:
                for segment in self._segments:
                    segment.journal.close(remove=self._settled and not segment.pending)
                self._segments.clear()

    def _fold(self, session: Session) -> None:
        try:
            fold_dead(self._lease, session)
        except (duckdb.Error, OSError) as error:
            # Not ours to fail over: a reader on a full disk still gets its answer, and the journals stay for the next.
            log.warning("%s: journals of dead processes could not be folded in yet: %s", self._lease.folder, error)

    def _commit_some(self, session: Session) -> int:
        """One transaction; returns how many rows no longer wait."""
        with self._guard:
            segment = next(segment for segment in self._segments if segment.pending)
            batch = segment.pending[:MOST_ROWS]
        last = batch[-1].sequence
        first = committed(session, segment.journal.id)
        if first < segment.done:
            # Rows that we saw committed are gone again (a cut log): they are still in our journal.
            batch = [entry for entry in read_journal(segment.journal.path).entries
                     if first < entry.sequence <= last]
        fresh = [entry for entry in batch if entry.sequence > first]
        self._settled = False
        commit_entries(session, segment.journal.id, fresh, self._rejected)
        with self._guard:
            segment.done = last
            kept = [entry for entry in segment.pending if entry.sequence > segment.done]
            gone = len(segment.pending) - len(kept)
            self._waiting -= gone
            segment.pending = kept
            self._oldest = time.monotonic()
            self._changed.notify_all()
            return gone

    def _rejected(self, journal: str, entries: list[Entry]) -> None:
        self._refusal = keep_rejected(self._lease, journal, entries)

    def _drop_finished(self) -> None:
        with self._guard:
            for segment in self._segments[:-1]:
                if not segment.pending:
                    segment.journal.close(remove=True)
                    self._segments.remove(segment)

    def _raise_error(self) -> None:
        if self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            raise refusal
        if self._error is not None:
            error, self._error = self._error, None
            if isinstance(error, StoreError):
                raise error
            raise StoreError(f"{self._lease.folder}: the writer failed: {error!r}") from error

    def _due(self) -> float:
        """Seconds until the next commit is due; with the guard held."""
        if self._waiting >= BATCH_ROWS or self._closing:
            return 0.0
        return self._oldest + BATCH_SECONDS - time.monotonic() if self._waiting else BATCH_SECONDS

    def _work(self) -> None:
        held_since: float | None = None
        while True:
            with self._guard:
                while (not self._closing and (due := self._due()) > 0) or not (self._waiting or self._closing):
                    self._changed.wait(due if self._waiting else None)
                if self._closing:
                    return  # close() commits the rest itself, and has its errors
                journals = [segment.journal for segment in self._segments]
            try:
                for journal in journals:
                    journal.sync()
                with self._lease.session(wait_s=BATCH_SECONDS) as session:
                    self.commit(session, batches=1)
                held_since = None
                time.sleep(_PAUSE_S)
            except StoreHeld as error:
                held_since = held_since or time.monotonic()
                if time.monotonic() - held_since > self._lease.wait_s:
                    self._fail(error)
                    held_since = None
            except Exception as error:  # noqa: BLE001 - not hidden: the next append raises it
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        with self._guard:
            self._error = error
            self._changed.notify_all()
            if not self._closing:
                self._changed.wait(BATCH_SECONDS)
