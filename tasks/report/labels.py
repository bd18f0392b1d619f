"""Where the names of points go in a scatter plot, so that no two of them, and no name and point, lie on each other.

A greedy placement in pixels: important names first, a name without room is left out (the point keeps its tooltip and
link).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

CHARACTER = 6.6
"""Width of a character at 11.5 px, in pixels; a little more than most system fonts need."""
HEIGHT = 14.0
RADIUS = 7.0


Box = tuple[float, float, float, float]


class Spot(NamedTuple):
    """A point that wants its name shown. Pixels from the left and from the top."""

    name: str
    x: float
    y: float


class Placed(NamedTuple):
    """A name with room: where its text is anchored, in pixels."""

    name: str
    x: float
    y: float
    align: str


def place(
    spots: Sequence[Spot], obstacles: Sequence[Spot], width: float, height: float, reserved: Sequence[Box] = ()
) -> list[Placed]:
    """Names that fit into a plot of ``width`` x ``height`` pixels.

    Args:
        spots: the points to be named, most important first.
        obstacles: all points, named or not; no name covers one.
        width: of the plot's inner area.
        height: of the plot's inner area.
        reserved: boxes that other words of the plot take (left, top, right, bottom).
    """
    taken: list[Box] = [
        *reserved,
        *((spot.x - RADIUS, spot.y - RADIUS, spot.x + RADIUS, spot.y + RADIUS) for spot in obstacles),
    ]
    placed = []
    for spot in spots:
        for option in _options(spot):
            box = _box(option)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                placed.append(option)
                break
    return placed


def _options(spot: Spot) -> list[Placed]:
    gap, near = 10.0, 9.0
    return [
        Placed(spot.name, spot.x + gap, spot.y, "left"),
        Placed(spot.name, spot.x - gap, spot.y, "right"),
        Placed(spot.name, spot.x + near, spot.y - near - 4, "left"),
        Placed(spot.name, spot.x + near, spot.y + near + 4, "left"),
        Placed(spot.name, spot.x - near, spot.y - near - 4, "right"),
        Placed(spot.name, spot.x - near, spot.y + near + 4, "right"),
        Placed(spot.name, spot.x, spot.y - 17, "center"),
        Placed(spot.name, spot.x, spot.y + 17, "center"),
    ]


def _box(option: Placed) -> Box:
    long = len(option.name) * CHARACTER
    left = option.x - {"left": 0.0, "right": long, "center": long / 2}[option.align]
    return (left, option.y - HEIGHT / 2, left + long, option.y + HEIGHT / 2)


def _overlap(one: Box, two: Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
