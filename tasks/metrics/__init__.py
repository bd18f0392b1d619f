"""Judgements become numbers with intervals: numpy, scipy and polars only, no I/O."""
