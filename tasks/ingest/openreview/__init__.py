"""Submissions of a venue on OpenReview: exported once, matched to their LaTeX on arXiv, with people's scores."""
