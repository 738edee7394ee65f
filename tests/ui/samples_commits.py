"""What can be applied on shop/web, and what that would change, for tests and pictures."""

from __future__ import annotations

from datetime import timedelta

from console.model.commits import ApplyOffer, ChangePreview, CommitInfo, CommitOffer, ObjectChange, ReasonOffer
from console.model.plan import FieldChange
from tests.ui.fleet import SHA_NEW, SHA_OLD, WEB
from tests.ui.stand_in import NOW, StandIn

SHA_REFUSED = "77b0e41" + "c" * 33
NEW = CommitInfo(hash=SHA_NEW, subject="Serve web:1.44 with six replicas", author="ana", when=NOW - timedelta(minutes=9))
OLD = CommitInfo(hash=SHA_OLD, subject="Raise the memory limit of cart", author="ben", when=NOW - timedelta(days=2))
REFUSED = CommitInfo(hash=SHA_REFUSED, unread="the repository wants a login")
OFFER = ApplyOffer(
    ref=WEB,
    binding="https://github.com/acme/shop@main",
    applied=SHA_OLD,
    commits=(
        CommitOffer(commit=REFUSED, places=("head of main",), refused="the source does not have it yet: R fetches it"),
        CommitOffer(commit=NEW, places=("the source has it",)),
        CommitOffer(commit=OLD, places=("applied now",)),
    ),
    reasons=(
        ReasonOffer(reason="CatchUp", words="the applier may be behind a commit that is known"),
        ReasonOffer(reason="ForeignCommit", words="the branch moved to a commit that was not written from here"),
        ReasonOffer(
            reason="Refusal",
            words="the unchanged commit is applied again to take back a live edit",
            refused="no target consents to have live edits taken back",
        ),
        ReasonOffer(
            reason="Repair", words="the unchanged commit is applied again because the cluster's last state is uncertain"
        ),
    ),
)
PREVIEW = ChangePreview(
    commit=NEW,
    objects=(
        ObjectChange(what="Service shop/web", change="same"),
        ObjectChange(
            what="Deployment shop/web",
            change="update",
            fields=(
                FieldChange(path="spec.replicas", before="3", after="6", owner="kubectl"),
                FieldChange(
                    path="spec.template.spec.containers[web].image",
                    before="registry.acme.test/web:1.43",
                    after="registry.acme.test/web:1.44",
                ),
            ),
        ),
        ObjectChange(what="ConfigMap shop/flags", change="create"),
        ObjectChange(what="Job shop/migrate-41", change="delete"),
        ObjectChange(what="Secret shop/db", change="unknown", said="the server may not be asked (403)"),
        ObjectChange(what="Ingress shop/web", change="same"),
    ),
    notes=("Substitutions of the Kustomization are not covered.",),
)


def offer_commits(runtime: StandIn) -> None:
    """Let the runtime offer and preview commits for shop/web."""
    runtime.offers[WEB] = OFFER
    runtime.previews[WEB, SHA_NEW] = PREVIEW
    runtime.previews[WEB, SHA_OLD] = ChangePreview(commit=OLD)
