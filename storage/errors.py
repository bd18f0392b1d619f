"""The errors a user can mend. Everything else is a bug and keeps its traceback.

``UserError`` and its children are printed as one line and end with exit code 2; they carry what to do.
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user gave or set up is wrong: one line says which file, field or family, and what to do."""


class SuiteError(UserError):
    """A suite file is unreadable or has a wrong or unknown field."""


class InputError(UserError):
    """A file with papers, scores, ideas or pairs is unreadable or has a wrong cell."""


class EnvironmentProblem(UserError):
    """This machine lacks something: TeX, a key variable, disk space, an optional extra."""


class StoreError(UserError):
    """The store cannot be used as it is: held, newer, damaged, or on a full disk."""


class StoreHeld(StoreError):
    """Another process kept the store's lease longer than the wait."""


class StoreTooNew(StoreError):
    """The file was written by a newer DuckDB or a newer Evenhand."""


class StoreDamaged(StoreError):
    """Rows, texts or blobs that were written are not there or are not what was written."""
