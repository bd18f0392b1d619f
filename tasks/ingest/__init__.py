"""A source (folder, archive, PDF) becomes a family with a compiled original."""
