"""Named analyses of a suite: what they ask for, how they are computed, and what they give to the report."""
