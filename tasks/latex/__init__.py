"""Workshop: what a LaTeX project is - files, prose and masks, building, PDF text. Serves ingest and rewrite.

Nothing here asks a model, reads a suite or writes to the store.
"""
