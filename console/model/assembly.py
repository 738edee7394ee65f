"""An object that stands for a whole graph of resources."""

from __future__ import annotations

from console.model.resource import Resource


class Assembly(Resource, frozen=True, kw_only=True):
    """What a graph is called as a whole: ``made`` of its ``wanted`` resources are there now."""

    wanted: int = 0
    made: int = 0
