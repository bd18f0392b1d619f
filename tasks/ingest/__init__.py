"""Stage: from what people hand in (folders, archives, PDFs, scores) to families with a compiled original."""
