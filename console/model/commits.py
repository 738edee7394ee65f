"""What an operator can ask an applier to apply, and what that would change: pure data between the runtime and every face.

An :class:`ApplyOffer` is read before a plan is made; a :class:`ChangePreview` is a server-side dry run of one commit. Both are
for people: neither is a ground for a write, the plan reads the world again.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from console.model.plan import FieldChange
from console.model.refs import Ref


class CommitInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A commit and what its repository tells of it. ``hash`` is full; ``unread`` says why the rest could not be read."""

    hash: str
    subject: str = ""
    author: str = ""
    when: datetime | None = None
    unread: str = ""

    @property
    def short(self) -> str:
        """The first seven digits, as people write them."""
        return self.hash[:7]


class CommitOffer(msgspec.Struct, frozen=True, kw_only=True):
    """One commit that could be asked for.

    :param places: where it was seen, in words: "the source has it", "head of main", "applied now".
    :param refused: why it can't be applied now; "" if it can.
    """

    commit: CommitInfo
    places: tuple[str, ...] = ()
    refused: str = ""


class ReasonOffer(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for an apply (``CatchUp``, ``ForeignCommit``, ``Refusal``, ``Repair``), in words.

    ``refused`` says why it is unlawful now; "" if it is lawful.
    """

    reason: str
    words: str
    refused: str = ""


class ApplyOffer(msgspec.Struct, frozen=True, kw_only=True):
    """What can be asked of a trigger's applier now. The first commit that isn't refused is the one to propose.

    :param binding: ``repository@branch`` that the applier must apply from.
    :param applied: the commit that was applied last; "" if none was.
    :param notes: what stands in the way or could not be read, in sentences.
    """

    ref: Ref
    binding: str
    applied: str
    commits: tuple[CommitOffer, ...] = ()
    reasons: tuple[ReasonOffer, ...] = ()
    notes: tuple[str, ...] = ()


class ObjectChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit would do to one object.

    :param what: kind, namespace and name as people read it: ``Deployment shop/web``.
    :param change: "create", "update", "delete", "same", or "unknown" with the reason in ``said``.
    :param fields: what differs, values as text with secrets masked.
    """

    what: str
    change: str
    fields: tuple[FieldChange, ...] = ()
    said: str = ""


class ChangePreview(msgspec.Struct, frozen=True, kw_only=True):
    """What applying ``commit`` would change, as the API server itself answered to a dry run; nothing was stored.

    :param notes: what is not covered and why (no such tool, templates of the applier, a refused kind), in sentences.
    """

    commit: CommitInfo
    objects: tuple[ObjectChange, ...] = ()
    notes: tuple[str, ...] = ()

    def count(self, change: str) -> int:
        """How many objects have this change."""
        return sum(item.change == change for item in self.objects)
