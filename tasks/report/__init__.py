"""Numbers to things people read: one HTML page, files in open formats, Prefect artifacts.

Entry points: ``page.write_report``, ``exports.write_exports``, ``artifacts.publish_artifacts``,
``release.export_release``. Positions, counts and sums for display are computed here, no metric is; no model is asked,
no store is opened. Only ``artifacts`` knows Prefect.
"""
