"""Files of scores: rows numbered as a person sees them, kinds that agree, refusals that name file and row."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from flows.score_files import bias_document, read_scores, robust_document, style_document
from storage.errors import InputError
from tasks.metrics.scores import ROW

ROWS = [(f"p{i}", version, score) for i, scores in enumerate([(3, 3, 4), (5, 6, 5), (8, 8, 6), (4, None, 4), (7, 6, 7)])
        for version, score in zip(("original", "a", "b"), scores, strict=True)]


def csv_text(rows=ROWS, header="family,version,score") -> str:
    return "\n".join([header, *[",".join("" if c is None else str(c) for c in row) for row in rows]]) + "\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_all_kinds_of_file_give_the_same_document(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, orient="row", schema={"family": pl.String, "version": pl.String, "score": pl.Float64})
    frame.write_parquet(tmp_path / "s.parquet")
    paths = [
        write(tmp_path / "s.csv", csv_text()), write(tmp_path / "bom.csv", b"\xef\xbb\xbf" + csv_text().encode()),
        write(tmp_path / "crlf.csv", csv_text().replace("\n", "\r\n")),
        write(tmp_path / "s.tsv", csv_text().replace(",", "\t")),
        write(tmp_path / "s.jsonl", "\n".join(json.dumps(dict(zip(("family", "version", "score"), row, strict=True)))
                                              for row in ROWS)),
        write(tmp_path / "text.jsonl", "\n".join(
            json.dumps({"family": f, "version": v} | ({} if s is None else {"score": str(s)})) for f, v, s in ROWS)),
        tmp_path / "s.parquet",
    ]
    human = write(tmp_path / "human.csv", "family,score\n" + "".join(f"p{i},{i + 2}.5\n" for i in range(5)))
    documents = [json.dumps(robust_document(path, human), allow_nan=False) for path in paths]
    assert len(set(documents)) == 1
    numbers = json.loads(documents[0])["configurations"]["default"]
    assert numbers["mad"]["n"] == 9 and numbers["human_mae"]["n"] == 5 and numbers["icc_a1"]["n"] == 4
    assert set(numbers) == {"mad", "drift_sd", "icc_a1", "spr", "discriminability", "human_mae", "human_spearman"}


@pytest.mark.parametrize(("name", "text", "words"), [
    ("s.csv", csv_text([*ROWS, ("p9", "a", "high")]), "row 17, column 'score': 'high' is not a number"),
    ("s.csv", csv_text([*ROWS, ("p9", "a", "NaN")]), "row 17, column 'score': 'NaN' is not a number"),
    ("s.csv", csv_text([*ROWS, ("p9", "a")]), "row 17: has 2 cells where the header has 3"),
    ("s.csv", csv_text([*ROWS, ("p9", "a", 3, 4)]), "row 17: has 4 cells"),
    ("s.csv", "family,version,score,score\n", "row 1, column 'score': is there twice"),
    ("s.csv", "", "row 1: there is no header"),
    ("s.csv", csv_text([*ROWS, ("p0", "a", 3)]), "row 17, column 'score': a second value for"),
    ("s.csv", csv_text().encode("utf-16"), "is not UTF-8 text"),
    ("s.csv", csv_text() + 'p9,"open,3\n', "row 17: unexpected end of data"),
    ("s.csv", csv_text(header="family,version,rating"), "column 'rating': unknown column"),
    ("s.xlsx", "x", "unknown kind of file '.xlsx'"),
    ("s.parquet", "no parquet", "is not a readable Parquet file"),
    ("s.jsonl", '{"family": "a", "version": "original", "score": 1}\n\n{"family"', "row 3: is not a JSON object"),
    ("s.jsonl", '{"family": "a", "version": "original", "score": NaN}', "row 1: NaN is not a number; write null"),
    ("s.jsonl", '{"family": "a", "version": "original", "score": true}', "column 'score': 'true' is not a number"),
    ("s.jsonl", '{"family": "a", "score": 7, "score": 2}', "row 1, column 'score': is there twice"),
    ("s.jsonl", '{"family": "a", "version": "original", "score": [1]}', "row 1, column 'score': holds a nested value"),
    ("s.jsonl", '{"family": "a", "version": "original", "score": 9e999}', "row 1, column 'score'"),
    ("s.jsonl", "[1]", "row 1: is not a JSON object; write one object a line"),
])
def test_refusals_name_file_and_row(tmp_path: Path, name: str, text: str | bytes, words: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(InputError) as caught:
        robust_document(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and words in message and "\n" not in message


def test_blank_lines_count_as_rows_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "s.csv", "family,version,score\na,original,1\n\na,x,2\n")
    assert read_scores(path)[ROW].to_list() == [2, 4]


def test_human_file_without_common_family(tmp_path: Path) -> None:
    path = write(tmp_path / "s.csv", csv_text())
    human = write(tmp_path / "h.csv", "family,score\nother,3\n")
    with pytest.raises(InputError, match="none of its families is in"):
        robust_document(path, human)
    with pytest.raises(InputError, match="there is no such file"):
        robust_document(path, tmp_path / "none.csv")


def test_style_and_bias_files(tmp_path: Path) -> None:
    rows = [(f"i{i}", v, d, 5 + i % 3 + (v == "A3")) for i in range(6) for v in ("A2", "A3", "B1", "C1")
            for d in ("novelty", "overall")]
    style = write(tmp_path / "style.csv", csv_text(rows, "idea,variant,dimension,score"))
    found = style_document(style)["configurations"]["default"]
    assert found["sbi_plain"]["value"] == 1.0 and found["srr"]["value"] == 1.0
    verdicts = [("q1", "race", "correct", "wrong"), ("q2", "race", "correct", "correct")]
    bias = write(tmp_path / "bias.csv", csv_text(verdicts, "item,bias,original,injected"))
    assert bias_document(bias)["configurations"]["default"]["bsr"]["value"] == 0.5
    with pytest.raises(InputError, match="row 4, column 'injected': 'flip' is not one of"):
        flipped = [*verdicts, ("q3", "race", "wrong", "flip")]
        bias_document(write(bias, csv_text(flipped, "item,bias,original,injected")))
