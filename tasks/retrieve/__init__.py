"""An idea becomes a ranked list of related works."""
