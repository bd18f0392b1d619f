"""Workshop: what a LaTeX project is (files, spans, masks, compile)."""
