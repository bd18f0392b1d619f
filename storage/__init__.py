"""What is remembered: the DuckDB store, blobs, keys, records, migrations.

Nothing here knows what a judge or a paper is for.
"""
