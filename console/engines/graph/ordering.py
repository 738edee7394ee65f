"""Order: shortest cycles, waves, and the order in which stored records may be deleted. Nothing here recurses or awaits."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TypeVar

from console.model.graph import Deployed, Identity

K = TypeVar("K", bound=Hashable)
RecordKey = tuple[Identity, str]
"""Identity and id: what tells an old version from the new one."""


def waves(before: Mapping[K, Collection[K]]) -> dict[K, int]:
    """Each key's distance from the start: 0 without predecessors, else one more than the latest of them.

    Raises :class:`graphlib.CycleError`.
    """
    order: dict[K, int] = {}
    for key in TopologicalSorter(before).static_order():
        order[key] = 1 + max((order[parent] for parent in before.get(key, ())), default=-1)
    return order


def shortest_cycle(before: Mapping[Identity, Collection[Identity]]) -> list[Identity]:
    """One shortest cycle, first and last the same, each followed by one that needs it; empty if there is none.

    Breadth-first from every node that lies on a cycle; a node that has been tried is taken out, and with it all that was only
    held by it, so a single ring costs one pass.
    """
    after: dict[Identity, set[Identity]] = {}
    left: dict[Identity, set[Identity]] = {}
    for key, parents in before.items():
        left.setdefault(key, set())
        for parent in parents:
            left.setdefault(parent, set())
            left[key].add(parent)
            after.setdefault(parent, set()).add(key)
    best: list[Identity] = []
    _peel(left, after, list(left))
    for start in sorted(left):
        if start not in left:
            continue
        found = _cycle_through(start, after, len(best) - 2 if best else len(left))
        best = found or best
        if len(best) == 2:
            break
        touched = [*left[start], *after.get(start, ())]
        _remove(start, left, after)
        _peel(left, after, touched)
    return best


def _remove(key: Identity, left: dict[Identity, set[Identity]], after: dict[Identity, set[Identity]]) -> None:
    for parent in left.pop(key):
        after[parent].discard(key)
    for child in after.pop(key, set()):
        if child in left:
            left[child].discard(key)


def _peel(left: dict[Identity, set[Identity]], after: dict[Identity, set[Identity]], suspects: Iterable[Identity]) -> None:
    """Take out what lies on no cycle: nodes without parents or without children, again and again."""
    queue = deque(suspects)
    while queue:
        key = queue.popleft()
        if key in left and (not left[key] or not after.get(key)):
            queue.extend(left[key])
            queue.extend(after.get(key, ()))
            _remove(key, left, after)


def _cycle_through(start: Identity, after: Mapping[Identity, Collection[Identity]], limit: int) -> list[Identity]:
    """The shortest way from start back to it in at most ``limit`` steps, or nothing."""
    came_from: dict[Identity, Identity] = {}
    layer = [start]
    for _step in range(limit):
        following: list[Identity] = []
        for key in layer:
            for child in sorted(after.get(key, ())):
                if child == start:
                    way = [start, key]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return way[::-1]
                if child not in came_from:
                    came_from[child] = key
                    following.append(child)
        layer = following
    return []


def delete_order(records: Iterable[Deployed]) -> tuple[dict[RecordKey, set[RecordKey]], list[str]]:
    """For each record the ones to delete first (its stored children), and warnings about cycles that were cut.

    A dependency on something that is not among the records is no obstacle. In a cycle the edge whose child sorts last is
    dropped, since records that wait for each other would never go.
    """
    everything = list(records)
    by_identity: dict[Identity, list[RecordKey]] = {}
    for record in everything:
        by_identity.setdefault(record.identity, []).append((record.identity, record.id))
    before: dict[RecordKey, set[RecordKey]] = {(record.identity, record.id): set() for record in everything}
    for record in everything:
        for parent in record.deps:
            for key in by_identity.get(parent, ()):
                before[key].add((record.identity, record.id))
    warnings = []
    while cycle := _any_cycle(before):
        # graphlib lists each node before the one that waits for it, so the pair is (child, its parent).
        child, parent_key = max(pairwise(cycle), key=lambda pair: pair[0])
        before[parent_key].discard(child)
        warnings.append(
            f"Stored dependencies form a cycle: {' → '.join(str(key[0]) for key in reversed(cycle))}; "
            f"{child[0]} no longer waits for {parent_key[0]}."
        )
    return before, warnings


def _any_cycle(before: Mapping[RecordKey, Collection[RecordKey]]) -> list[RecordKey]:
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        cycle: list[RecordKey] = error.args[1]
        return cycle
    return []
