"""A venue's submissions and reviews, asked from OpenReview with its own client.

Here belongs asking. What a note holds is read in ``submissions.py``; an export is made once and used from its file.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import requests
from openreview import OpenReviewException
from openreview.api import OpenReviewClient

from storage.errors import EnvironmentProblem, InputError
from tasks.ingest.archive import sniff
from tasks.ingest.openreview.submissions import Submission, from_note

BASE_URL = "https://api2.openreview.net"
URL_VARIABLE = "OPENREVIEW_API_BASEURL_V2"


@contextlib.contextmanager
def _client(url: str | None) -> Iterator[OpenReviewClient]:
    """A client; as a guest where ``OPENREVIEW_USERNAME`` and ``OPENREVIEW_PASSWORD`` are not set.

    Raises:
        EnvironmentProblem: OpenReview cannot be reached or refuses.
    """
    address = url or os.environ.get(URL_VARIABLE) or BASE_URL
    # The client tells its retries on standard output, which is for results.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            client = OpenReviewClient(baseurl=address)
            yield client
        except requests.RequestException as error:
            raise EnvironmentProblem(f"{address} cannot be reached: {type(error).__name__}; try again later") from error
        except OpenReviewException as error:
            said = " ".join(str(error).split())[:300]
            raise EnvironmentProblem(
                f"{address} refused: {said}; for what guests may not see set OPENREVIEW_USERNAME and "
                "OPENREVIEW_PASSWORD"
            ) from error


def fetch_venue(venue: str, *, url: str | None = None) -> list[Submission]:
    """The submissions of a venue that were reviewed, with their reviews.

    Args:
        venue: its id, e.g. ``ICLR.cc/2026/Conference``.
        url: another host than OpenReview's.

    Raises:
        EnvironmentProblem: OpenReview cannot be reached or refuses.
        InputError: the venue has no submission that may be seen.
    """
    with _client(url) as client:
        notes = client.get_all_notes(invitation=f"{venue}/-/Submission", details="replies")
    found = [from_note({**note.to_json(), "details": note.details}) for note in notes]
    read = [one for one in found if one is not None and one.reviews]
    if not read:
        raise InputError(f"{venue}: OpenReview shows no reviewed submission of it; check the venue's id")
    return read


def fetch_pdfs(submissions: list[Submission], folder: Path, *, url: str | None = None) -> list[Submission]:
    """The same submissions with their PDFs under ``folder/pdfs``; what is there is not fetched again.

    A PDF that may not be seen, or is none, is left out: then abstracts are compared.

    Raises:
        EnvironmentProblem: OpenReview cannot be reached.
    """
    place = folder / "pdfs"
    place.mkdir(parents=True, exist_ok=True)
    made: list[Submission] = []
    with _client(url) as client:
        for one in submissions:
            path = place / f"{one.id}.pdf"
            if not path.is_file():
                data = _pdf(client, one.id)
                if data is not None:
                    path.write_bytes(data)
            made.append(one.model_copy(update={"pdf": f"pdfs/{path.name}" if path.is_file() else None}))
    return made


def _pdf(client: OpenReviewClient, name: str) -> bytes | None:
    try:
        data: bytes = client.get_pdf(name)
    except OpenReviewException:
        return None
    return data if sniff(data) == "pdf" else None
