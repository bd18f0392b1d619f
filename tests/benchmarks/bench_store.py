"""How fast the store remembers, against plain ways of doing it: absolute figures, and ratios measured in one run."""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

import duckdb

from storage import database
from storage.lease import FileLease
from storage.records import Call, now
from storage.schema import table_of
from storage.store import Store, open_store
from storage.views import best

WORDS = ("the", "paper", "claims", "novel", "evidence", "method", "results", "weak", "strong", "scope", "model", "data",
         "however", "reviewers", "should", "consider", "baseline", "significance", "clarity", "of", "and", "is")


def answer(number: int) -> str:
    """About 2 KB of prose that compresses like prose, and no two alike."""
    chance = random.Random(number)
    return " ".join(chance.choice(WORDS) + (str(chance.randrange(100)) if chance.random() < 0.2 else "")
                    for _ in range(340))


def calls(first: int, count: int) -> list[Call]:
    return [Call(key=f"sha256:{number:064d}", attempt=1, outcome="answered", base_url="http://127.0.0.1/v1", api="chat",
                 model="m", parameters={"temperature": 0}, repeat=0, answer=answer(number), started_at=now(),
                 messages=[{"role": "user", "parts": [{"kind": "text", "hash": f"sha256:{number % 500:064d}"}]}],
                 latency_ms=1000.0)
            for number in range(first, first + count)]


def seconds(work) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def naive(folder: Path, rows: list[Call]) -> float:
    """One INSERT a row, each its own transaction, in a file held open: what most harnesses do. Rows a second."""
    table = table_of(Call)
    with duckdb.connect(str(folder / "naive.duckdb")) as connection:
        connection.execute(table.ddl)
        sql = f"INSERT INTO calls VALUES ({', '.join('?' for _ in table.columns)})"

        def work() -> None:
            for row in rows:
                plain = table.encode(row)
                moments = {name: getattr(row, name) for name in ("at", "started_at")}
                connection.execute(sql, list((plain | moments).values()))
        return len(rows) / seconds(work)


def one_writer(store: Store, rows: list[Call]) -> float:
    def work() -> None:
        for row in rows:
            store.append(row)
        store.flush()
    return len(rows) / seconds(work)


def slowest_read(store: Store, rows: list[Call], other: Store) -> tuple[float, int]:
    """The slowest answer, and how many, that a reader with a lease of its own gets while a writer is at full speed."""
    waits: list[float] = []
    writer = threading.Thread(target=one_writer, args=(store, rows))
    writer.start()
    while writer.is_alive():
        waits.append(seconds(lambda: other.query("SELECT outcome, count(*) FROM calls GROUP BY ALL")))
    writer.join()
    return max(waits), len(waits)


def growth(folder: Path, row_group: int, steps: int, per_step: int) -> list[tuple[int, float]]:
    """Milliseconds of a lease that commits 256 rows (the median of five), as the file grows."""
    database.ROW_GROUP = row_group
    store = open_store(folder / f"grown-{row_group}.duckdb")
    costs, there = [], 0
    for _ in range(steps):
        store.append(*calls(there, per_step - 5 * 256))
        store.flush()
        leases = []
        for start in range(there + per_step - 5 * 256, there + per_step, 256):
            store.append(*calls(start, 256))
            leases.append(1000 * seconds(store.flush))
        there += per_step
        costs.append((there, statistics.median(leases)))
    store.close()
    database.ROW_GROUP = 2048
    return costs


def line(what: str, figure: float, unit: str, ratio: float, of: str) -> None:
    print(f"{what:44} {figure:10,.0f} {unit:7} {ratio:9,.1f} x {of}")


def grown(folder: Path, rows: int) -> None:
    steps = 6
    costs = {group: growth(folder, group, steps, rows // steps) for group in (2048, 122_880)}
    for group, figures in costs.items():
        print(f"  a lease with 256 rows, row groups of {group:,}: "
              + "  ".join(f"{count:,} calls {cost:.0f} ms" for count, cost in figures))
    last = {group: figures[-1][1] for group, figures in costs.items()}
    line("the last of them", last[2048], "ms", last[122_880] / last[2048], "faster than with DuckDB's large row groups")
    store = open_store(folder / "grown-2048.duckdb")
    present = store.query("SELECT key FROM calls")["key"].to_list()
    wanted = present[::2] + [f"sha256:new{number}" for number in range(len(present) // 2)]
    joined = min(seconds(lambda: store.missing("calls", wanted)) for _ in range(3))
    singly = seconds(lambda: [store.missing("calls", [key]) for key in wanted[:20]]) / 20 * len(wanted)
    line(f"{len(wanted):,} wanted keys against {len(present):,}", joined * 1000, "ms", singly / joined,
         "faster than one look-up a key")
    whole = seconds(lambda: store.query(best("calls")))
    narrow = seconds(lambda: store.query("SELECT key, outcome FROM calls_best"))
    line("calls_best, every column", whole * 1000, "ms", whole / narrow, "as long as two columns")
    raw = sum(len(text) for text in store.query("SELECT answer FROM calls")["answer"]) / len(present)
    store.close()
    size = (folder / "grown-2048.duckdb").stat().st_size / len(present)
    line("on disk per call", size, "bytes", raw / size, f"smaller than its {raw:,.0f} bytes of answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=37_800, help="calls in the grown file (default: the paper's)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        open_store(folder / "warm.duckdb").append(*calls(0, 10))  # imports, once
        rows = calls(0, 10_000)
        slow = naive(folder, rows[:300])
        store = open_store(folder / "speed.duckdb")
        fast = one_writer(store, rows)
        line("one writer, 2 KB answers", fast, "rows/s", fast / slow, f"one INSERT a row ({slow:,.0f} rows/s)")
        reader = Store(FileLease(folder / "speed.duckdb"), str(folder / "blobs"), "reader")
        waited, reads = slowest_read(store, calls(10_000, 20_000), reader)
        line("slowest answer to a reader meanwhile", waited * 1000, "ms", 2 / waited, f"inside 2 s ({reads} answers)")
        reader.close()
        store.close()
        grown(folder, given.rows)


if __name__ == "__main__":
    main()
