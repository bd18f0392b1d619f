"""The lease: short, fair and exclusive use of the DuckDB file, by any number of processes and threads.

Nobody holds the file: take a turn, lock, open, work, checkpoint, close. Here belong opening and everything that can be
wrong with the file when it is opened; what is read or written meanwhile is the store's and the writer's matter.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import orjson
from filelock import FileLock, Timeout

from storage.database import (
    MACHINE_ERRORS,
    Connection,
    attach,
    explained,
    holder_of,
    log_is_damaged,
    refuse_newer,
)
from storage.errors import StoreError, StoreHeld
from storage.manifest import Manifest
from storage.migrations import migrate
from storage.records import now
from storage.session import FileSession

WAIT_S = 60.0
_POLL_S = 0.004


class FileLease:
    """Leases of one DuckDB file. Thread-safe."""

    def __init__(self, path: Path, wait_s: float = WAIT_S) -> None:
        self.path = path
        self.folder = path.with_name(path.name + ".journal")
        self.manifest = Manifest(self.folder)
        self.wait_s = wait_s
        self._threads = threading.Lock()
        self._checked = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be made ({error.strerror}): choose another --store") from error

    @contextmanager
    def session(self, wait_s: float | None = None) -> Iterator[FileSession]:
        """Opens the file for as long as the ``with`` lasts; nobody else has it then.

        Args:
            wait_s: the longest wait for it, instead of the lease's own.

        Raises:
            StoreHeld: when it was not to be had within the wait; names the holder's PID where it is known.
            StoreTooNew: when a newer DuckDB or Evenhand wrote it.
            StoreDamaged: when the file is damaged. A damaged write-ahead log is set aside instead, with a warning.
            StoreError: for a full disk and whatever else DuckDB reports.
        """
        wait_s = self.wait_s if wait_s is None else wait_s
        deadline = time.monotonic() + wait_s
        if not self._threads.acquire(timeout=wait_s):
            raise StoreHeld(f"{self.path}: another thread of this process (PID {os.getpid()}) kept it for over "
                            f"{wait_s:g} s")
        try:
            with self._turn(deadline), self._opened(deadline) as session:
                yield session
        except MACHINE_ERRORS as error:
            raise explained(error, self.path) from error
        finally:
            self._threads.release()

    @contextmanager
    def _turn(self, deadline: float) -> Iterator[None]:
        # Who waits for the lease holds the turnstile, so that a busy writer cannot take it twice past a waiting reader.
        turn = FileLock(self.folder / "turn.lock", poll_interval=_POLL_S)
        lease = FileLock(self.folder / "lease.lock", poll_interval=_POLL_S)
        holder = self.folder / "holder.json"
        try:
            turn.acquire(timeout=max(0.0, deadline - time.monotonic()))
            try:
                lease.acquire(timeout=max(0.0, deadline - time.monotonic()))
            finally:
                turn.release()
        except Timeout as error:
            raise StoreHeld(f"{self.path}: held{_holder(holder)} for too long: let that process end, "
                            "then run again; journalled rows are kept") from error
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be locked ({error.strerror}): check its permissions") from error
        try:
            with suppress(OSError):  # only for messages; a full disk must not stop a reader
                holder.write_bytes(orjson.dumps({"pid": os.getpid(), "at": now().isoformat()}))
            yield
        finally:
            lease.release()

    @contextmanager
    def _opened(self, deadline: float) -> Iterator[FileSession]:
        if not self.path.exists() or self.path.stat().st_size == 0:
            self._create()
        refuse_newer(self.path)
        connection = self._connect(deadline)
        try:
            if not self._checked:
                migrate(connection, str(self.path))
                self._checked = True
            session = FileSession(connection, self.manifest)
            self._compare(session)
            yield session
        finally:
            # After an error the close may meet it again (a full disk): the log then stays, and the next lease reads it.
            with suppress(duckdb.Error):
                connection.close()

    def _create(self) -> None:
        self._promise_nothing()
        new = self.path.with_name(self.path.name + ".new")
        self._log(new).unlink(missing_ok=True)
        new.unlink(missing_ok=True)
        connection = attach(new)
        try:
            migrate(connection, str(self.path))
            connection.execute("CHECKPOINT store")
        finally:
            connection.close()
        new.replace(self.path)

    def _promise_nothing(self) -> None:
        if any(self.manifest.read().values()):
            rows = sum(self.manifest.read().values())
            self.manifest.report("file_missing", f"{self.path}: the file is gone, with {rows} rows; a new one is begun")
            self.manifest.write({})
        if self._log(self.path).exists():
            self._set_log_aside("its main file is gone")

    def _connect(self, deadline: float) -> Connection:
        while True:
            try:
                return attach(self.path)
            except duckdb.Error as error:
                pid = holder_of(error)
                if pid and time.monotonic() < deadline:
                    time.sleep(0.05)
                elif pid:
                    raise StoreHeld(f"{self.path}: another program (PID {pid}) has the file open: "
                                    "close it there, then run again; journalled rows are kept") from error
                elif log_is_damaged(error):
                    self._set_log_aside(str(error).splitlines()[0])
                else:
                    raise

    def _compare(self, session: FileSession) -> None:
        promised = self.manifest.read()
        present = session.counts()
        lost = {table: rows - present.get(table, 0) for table, rows in promised.items() if rows > present.get(table, 0)}
        if lost:
            named = ", ".join(f"{rows} of {table}" for table, rows in lost.items())
            self.manifest.report("rows_missing", f"{self.path}: rows that were committed are gone: {named}; what they "
                                 "stood for will be done again")
            self.manifest.write(present)

    @staticmethod
    def _log(path: Path) -> Path:
        return path.with_name(path.name + ".wal")

    def _set_log_aside(self, why: str) -> None:
        aside = self.path.with_name(f"{self.path.name}.wal.damaged-{now():%Y%m%dT%H%M%S%f}")
        self._log(self.path).rename(aside)
        self.manifest.report("wal_set_aside", f"{self.path}: the write-ahead log could not be used ({why}); it now "
                             f"lies in {aside.name}, the store goes on from its last checkpoint and its journals")


def _holder(file: Path) -> str:
    try:
        return f" by PID {orjson.loads(file.read_bytes())['pid']}"
    except (OSError, ValueError, KeyError):
        return ""
