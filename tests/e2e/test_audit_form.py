"""The audit form in a real browser: answered, kept over a reload, saved as the CSV that comes back in."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from flows.human_audit import FIDELITY
from tasks.report.audit_form import Item, audit_form
from tasks.report.changes import word_changes
from tasks.report.version_page import Part, Passage


def test_a_form_is_filled_in_and_saved(tmp_path: Path) -> None:
    place = shutil.which("chromium")
    if place is None:
        pytest.fail("no chromium on the PATH: install the system's package (Debian: chromium)")
    runs = word_changes("We show <b>it</b>.", "We clearly show <b>it</b>.")
    items = [Item(name, f"Paper {name}", [Part("Intro", [Passage("paragraph", runs)], 2)]) for name in ("a1", "b2")]
    form = tmp_path / "audit.html"
    form.write_text(audit_form("A & B", items, FIDELITY), encoding="utf-8")
    said: list[str] = []
    asked: list[str] = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=place, args=["--no-sandbox", "--headless", "--disable-gpu"])
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(form.as_uri())
        assert page.inner_text("#count") == "0 of 2 answered"
        page.click("#a1 summary")
        assert page.inner_text("#a1 .sides .passage:first-child") == "We show <b>it</b>."
        assert page.inner_text("#a1 ins").strip() == "clearly"
        for question in FIDELITY:
            page.check(f'input[name="a1-{question.name}"][value="kept"]')
        page.fill("#a1 textarea", 'he said, "fine"')
        page.fill("#rater", "Ann B.")
        assert page.inner_text("#count") == "1 of 2 answered"
        page.reload()
        assert page.inner_text("#count") == "1 of 2 answered"
        with page.expect_download() as waiting:
            page.click("#save")
        saved = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(saved)
        browser.close()
    assert said == [] and all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    with saved.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert saved.name == "audit-Ann-B-.csv" and [row["item"] for row in rows] == ["a1", "b2"]
    assert rows[0]["claims"] == "kept" and rows[0]["rater"] == "Ann B." and rows[0]["remark"] == 'he said, "fine"'
    assert rows[1]["claims"] == ""
