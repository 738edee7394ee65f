from __future__ import annotations

from typing import Any

import msgspec
import pytest

from console.model.connections import Connection, Phase
from console.model.health import Health
from console.model.operations import Operation, State
from console.model.resource import Resource
from console.views.cells import Context
from console.views.describe import as_text, describe, heading
from console.views.explain import explain
from tests.views import samples
from tests.views.samples import ALL, CONTEXT, NOW, ago

LIVE = Context(NOW)


def changed(resource: Any, **fields: object) -> Any:
    return msgspec.structs.replace(resource, **fields)


@pytest.mark.parametrize("resource", [pytest.param(item, id=f"{item.ref.kind}-{item.ref.name}") for item in ALL])
@pytest.mark.parametrize("health", list(Health))
def test_every_kind_in_every_health_has_three_sentences(resource: Resource, health: Health) -> None:
    variants = [changed(resource, health=health), changed(resource, health=health, reason="")]
    if isinstance(resource, Connection):
        variants = [changed(resource, phase=phase, heard=heard) for phase in Phase for heard in (None, ago(minutes=3))]
    if isinstance(resource, Operation):
        variants = [changed(resource, state=state) for state in State]
    for variant in variants:
        sentences = explain(variant, LIVE)
        assert len(sentences) == 3
        for text in sentences:
            assert text[-1] in ".?"
            assert ".." not in text and "  " not in text
        assert len(set(sentences)) == 3


def test_a_failed_apply_names_the_pods_and_the_commit_that_still_serves() -> None:
    pods = [
        samples.POD,
        changed(samples.POD, ref=samples.ref("Pod", "web-2", "shop")),
        changed(samples.POD, ref=samples.ref("Pod", "web-3", "shop"), health=Health.OK, reason=""),
    ]
    sentences = explain(changed(samples.FAILED_TRIGGER, interval="10m"), LIVE, pods)
    assert sentences == (
        "2 of 3 pods can't pull web:1.44.",
        "The last good commit, 4be19d0, still serves.",
        "It is tried again every 10m; going back to 4be19d0 is possible too.",
    )


def test_the_kubelets_words_for_a_missing_image_become_plain() -> None:
    pod = changed(samples.POD, reason='Back-off pulling image "registry.example/shop/web:1.44".')
    assert explain(samples.FAILED_TRIGGER, LIVE, [pod])[0] == "1 of 1 pod can't pull web:1.44."


def test_an_explanation_without_a_reason_uses_the_condition_in_plain_words() -> None:
    sentences = explain(changed(samples.FAILED_TRIGGER, reason=""), LIVE)
    assert sentences[0] == "A health check failed or took too long."


def test_a_trigger_that_never_applied_serves_nothing() -> None:
    item = changed(samples.FAILED_TRIGGER, applied="")
    assert explain(item, LIVE)[1] == "No commit has been applied yet, so nothing of it serves."


def test_a_row_of_a_dead_target_says_since_when_it_is_not_known() -> None:
    assert explain(samples.CONTAINER, CONTEXT)[2] == "This was so 3m ago: edge-1 is unreachable since."


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("No such image: busybox:nope", "shop_web: the image busybox:nope can't be found."),
        ("task: non-zero exit (7)", "shop_web: the process ended with exit code 7."),
        (
            "no suitable node (insufficient resources on 1 node)",
            "shop_web: no node suits it: insufficient resources.",
        ),
        ("create vol: missing required option", "shop_web: create vol: missing required option."),
    ],
)
def test_a_service_in_trouble_says_what_its_newest_failing_task_said(error: str, sentence: str) -> None:
    service = changed(samples.SWARM_SERVICE, health=Health.BAD)
    older = changed(samples.TASK, error="something older", created=ago(minutes=9))
    newest = changed(samples.TASK, error=error, created=ago(minutes=1))
    assert explain(service, LIVE, [newest, older])[0] == sentence


def test_an_unreadable_stack_is_called_neither_well_nor_missing() -> None:
    stack = changed(samples.STACK, unreadable="tasks: 403", services=0)
    first, second, _ = explain(stack, LIVE)
    assert first == "Not everything of it could be read: tasks: 403." and "neither well nor missing" in second


def test_an_operation_in_flight_says_its_step_and_what_would_end_it() -> None:
    assert explain(samples.RUNNING, LIVE) == (
        "Apply of pay/core on prod-eu, begun 38s ago, is under way.",
        "It is at “hooks”.",
        "It waits for Job pay/migrate to complete.",
    )


def test_a_container_killed_for_its_memory_says_so() -> None:
    dead = changed(
        samples.CONTAINER, state="exited", exit_code=137, oom_killed=True, health=Health.BAD, finished=ago(minutes=1)
    )
    assert explain(dead, LIVE)[1] == "The kernel ended it because it used more memory than it may."


def test_credentials_and_escapes_never_get_into_a_sentence() -> None:
    item = changed(samples.FAILED_TRIGGER, reason="clone of https://bob:hunter2@host failed \x1b[31m")
    text = " ".join(explain(item, LIVE))
    assert "hunter2" not in text and "\x1b" not in text


def test_a_description_has_no_empty_section_and_starts_with_why() -> None:
    for resource in ALL:
        sections = describe(resource, CONTEXT, related=[samples.POD], operations_on=[samples.ENDED], events=[samples.EVENT])
        assert sections[0].title == "Why" and len(sections[0].lines) == 3
        assert all(section.lines for section in sections)
        assert as_text(sections).isprintable() or "\n" in as_text(sections)


def test_conditions_are_said_in_words_and_judged_by_their_meaning() -> None:
    sections = {section.title: section for section in describe(samples.FAILED_TRIGGER, CONTEXT)}
    by_name = {line.label.text: line for line in sections["Conditions"].lines}
    assert by_name["Configured"].mark.tone == "ok"
    assert by_name["Ready"].mark.tone == "bad"
    assert by_name["Ready"].value.text.startswith("HealthCheckFailed · timeout waiting")
    named = [line for line in sections["Related"].lines if line.ref and line.ref.kind == "Kustomization"]
    assert named and named[0].label.text == "Kustomization shop/web"


def test_steps_of_an_operation_are_lines_with_shape_and_duration() -> None:
    sections = {section.title: section for section in describe(samples.RUNNING, CONTEXT)}
    assert [(line.mark.text, line.label.text, line.right.text) for line in sections["Operation"].lines] == [
        ("●", "artifact", "8s"),
        ("◐", "hooks", "30s"),
        ("○", "settle", ""),
    ]


def test_the_heading_says_what_and_where() -> None:
    first, second = heading(samples.FAILED_TRIGGER, CONTEXT)
    assert first.label.text == "shop/web" and first.value.text == "FluxTrigger → Kustomization"
    assert second.label.text == "prod-eu · ns shop · github.com/acme/shop@main"
    assert heading(samples.CONTAINER, CONTEXT)[0].right.text == "not live"


def test_a_description_prints_as_aligned_text() -> None:
    text = as_text(describe(samples.RUNNING, CONTEXT), width=60)
    assert "Operation\n  ● artifact" in text
    assert all(len(line) <= 140 for line in text.splitlines())
