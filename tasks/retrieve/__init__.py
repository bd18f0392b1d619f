"""Retrieve: the literature that judges are shown with an idea, from services or files, frozen as snapshots."""
