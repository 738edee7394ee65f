"""May a namespace use a cluster? Decided by the ClusterProvider, for targets and triggers alike. Section 2.3."""

from __future__ import annotations

from typing import Any

import msgspec

from console.engines.dispatch.constants import ConditionReason
from console.engines.ports.applier import CLUSTER_PROVIDERS, NAMESPACES, JsonObject, Objects
from console.errors import NotFound
from console.kit.dig import dig


class Admission(msgspec.Struct, frozen=True):
    """The answer. ``missing``: the provider does not exist, which decides nothing."""

    ok: bool
    reason: ConditionReason = ConditionReason.SUCCEEDED
    message: str = ""

    @property
    def missing(self) -> bool:
        """Whether there was nobody to decide."""
        return self.reason is ConditionReason.CLUSTER_PROVIDER_NOT_FOUND


class BadSelector(ValueError):
    """A label selector that can't be read."""


def selector_matches(selector: JsonObject, labels: dict[str, str]) -> bool:
    """Whether a Kubernetes label selector matches; an empty one matches everything. :raises BadSelector: malformed."""
    wanted = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []
    if not isinstance(wanted, dict) or not isinstance(expressions, list):
        raise BadSelector("matchLabels must be a map and matchExpressions a list")
    # Every expression is read, so that a bad one is found whatever the labels are.
    results = [_expression_matches(expression, labels) for expression in expressions]
    return all(labels.get(key) == value for key, value in wanted.items()) and all(results)


def _expression_matches(expression: Any, labels: dict[str, str]) -> bool:
    if not isinstance(expression, dict) or not isinstance(expression.get("key"), str):
        raise BadSelector("an expression needs a key")
    key, operator, values = expression["key"], expression.get("operator"), expression.get("values") or []
    if operator in ("Exists", "DoesNotExist"):
        if values:
            raise BadSelector(f"{operator} takes no values")
        return (key in labels) is (operator == "Exists")
    if operator in ("In", "NotIn"):
        if not values:
            raise BadSelector(f"{operator} needs values")
        return (labels.get(key) in values) is (operator == "In")
    raise BadSelector(f"unknown operator {operator!r}")


async def admit(objects: Objects, provider: str, namespace: str) -> Admission:
    """Ask a ClusterProvider about a namespace of the control cluster. Denied unless it says otherwise.

    :raises QuarterdeckError: a read failed with anything but "there is none": that is no decision.
    """
    try:
        allowed = dig(await objects.get(CLUSTER_PROVIDERS, "", provider), "spec", "allowedNamespaces") or {}
    except NotFound:
        return Admission(False, ConditionReason.CLUSTER_PROVIDER_NOT_FOUND, f"ClusterProvider {provider} does not exist")
    if namespace in (allowed.get("names") or []):
        return Admission(True)
    denied = f"ClusterProvider {provider} does not admit the namespace {namespace}"
    selector = allowed.get("selector")
    if selector is None:
        return Admission(False, ConditionReason.NAMESPACE_NOT_AUTHORIZED, denied)
    try:
        labels = dig(await objects.get(NAMESPACES, "", namespace), "metadata", "labels") or {}
    except NotFound:
        labels = {}
    try:
        matches = selector_matches(selector, labels)
    except BadSelector as error:
        message = f"{denied}: its selector is invalid ({error})"
        return Admission(False, ConditionReason.NAMESPACE_NOT_AUTHORIZED, message)
    return Admission(True) if matches else Admission(False, ConditionReason.NAMESPACE_NOT_AUTHORIZED, denied)
