"""Identity: canonical JSON and the algorithm-tagged hashes made from it.

Here belongs how a thing is named by its content. What goes *into* a key is decided where the step is
defined; this module only makes sure that equal content has equal names, on every machine and in every version.

A key never contains a label (a configuration's name, a producer's name, a file path): renaming costs nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import orjson

ALGORITHM = "sha256"


class NotCanonical(ValueError):
    """A value has no canonical JSON form (NaN, infinity, a non-string key, an unknown type)."""


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise NotCanonical(f"{where}: the integer {value} does not fit 64 bits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotCanonical(f"{where}: {value} is not a finite number")
        # 0 and 0.0 are one value to every endpoint, so they are one value to a key.
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise NotCanonical(f"{where}: the key {name!r} is not a string")
        return {name: _plain(item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, f"{where}[{place}]") for place, item in enumerate(value)]
    if isinstance(value, Set):
        raise NotCanonical(f"{where}: a set has no order; sort it first")
    raise NotCanonical(f"{where}: {type(value).__name__} has no canonical form")


def _is_plain(value: Any) -> bool:
    """Whether a value is its own plain form: nothing in it to be changed or refused. Cheaper than making a copy."""
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return True
    if kind is dict:
        for name, item in value.items():
            if type(name) is not str or not (type(item) is str or _is_plain(item)):
                return False
        return True
    if kind is list or kind is tuple:
        return all(map(_is_plain, value))
    return kind is int and -(2**63) <= value < 2**63


def canonical_json(value: Any) -> bytes:
    """The one JSON text of a value: sorted keys, UTF-8, no spaces, whole floats as integers.

    Args:
        value: None, bool, int, float, str, or lists/tuples and string-keyed mappings of them.

    Returns:
        The bytes that are hashed.

    Raises:
        NotCanonical: for NaN, infinities, sets, bytes, lone surrogates, and keys that are not strings.
    """
    try:
        return orjson.dumps(value if _is_plain(value) else _plain(value, "value"), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise NotCanonical(str(error)) from error


def content_hash(content: str | bytes) -> str:
    """The name of a text or blob: ``sha256:`` and 64 hexadecimal digits of its (UTF-8) bytes."""
    data = content.encode("utf-8", errors="surrogatepass") if isinstance(content, str) else content
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def step_key(step: str, version: int, **parts: Any) -> str:
    """The key of one step's outcome.

    Args:
        step: what is done, e.g. ``"call"``; two steps with equal inputs never share a key.
        version: raised by hand when the step's code changes what comes out.
        parts: everything else that can change the outcome, by name.

    Raises:
        NotCanonical: when a part has no canonical form.
    """
    return content_hash(canonical_json({"step": step, "version": version, "parts": parts}))
