"""The journal gives back what was appended, tolerates a torn end, and knows the dead from the living."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import StoreError
from storage.journal import Journal, dead_journals, read_journal

rows = st.lists(st.tuples(st.sampled_from(["calls", "steps"]), st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False), max_size=4)), max_size=6)


@settings(max_examples=50, deadline=None)
@given(st.lists(rows, max_size=4), st.integers(0, 10_000))
def test_what_was_appended_is_read_and_a_torn_end_costs_only_the_end(appends, cut):
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        for batch in appends:
            journal.append(batch)
        journal.close(remove=False)
        entries = read_journal(journal.path).entries
        assert [(entry.table, entry.row) for entry in entries] == [row for batch in appends for row in batch]
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
        data = journal.path.read_bytes()
        journal.path.write_bytes(data[:min(cut, len(data))])
        torn = read_journal(journal.path)
        assert torn.entries == entries[:len(torn.entries)]
        assert not torn.damaged_lines


def test_a_flipped_byte_is_noticed_and_costs_one_row(tmp_path):
    journal = Journal(tmp_path)
    for number in range(5):
        journal.append([("steps", {"number": number})])
    journal.close(remove=False)
    data = bytearray(journal.path.read_bytes())
    data[data.index(b'"number":2') + 9] ^= 1
    journal.path.write_bytes(data)
    contents = read_journal(journal.path)
    assert [entry.row["number"] for entry in contents.entries] == [0, 1, 3, 4]
    assert contents.damaged_lines == [4]


def test_a_living_process_keeps_its_journal_and_a_dead_one_does_not(tmp_path):
    mine = Journal(tmp_path)
    mine.append([("steps", {"a": 1})])
    code = (f"from storage.journal import Journal; from pathlib import Path; import os\n"
            f"Journal(Path({str(tmp_path)!r})).append([('steps', {{'b': 2}})]); os._exit(9)")
    subprocess.run([sys.executable, "-c", code], check=False)
    dead = [journal.read().entries[0].row for journal in dead_journals(tmp_path)]
    assert dead == [{"b": 2}]
    mine.close(remove=False)
    assert len(list(dead_journals(tmp_path))) == 2


def test_a_row_that_does_not_fit_the_disk_leaves_no_trace(tmp_path):
    """The limit stands for a full disk: a write stops half way through."""
    journal = Journal(tmp_path)
    journal.append([("steps", {"text": "kept"})])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal.size + 100, before[1]))
        with pytest.raises(StoreError, match="could not be journalled"):
            journal.append([("steps", {"text": "x" * 1000})])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    journal.append([("steps", {"text": "after"})])
    journal.sync()
    contents = read_journal(journal.path)
    assert [entry.row["text"] for entry in contents.entries] == ["kept", "after"]
    assert [entry.sequence for entry in contents.entries] == [1, 2]
    assert not contents.damaged_lines
    assert journal.path.stat().st_size == journal.size


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="no journal can be written"):
        Journal(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
