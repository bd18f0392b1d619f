"""Papers from arXiv: identifiers, a polite line to the export host, and what was fetched as sources of families."""
