"""All benchmarks by name."""

from __future__ import annotations

from tests.bench.beside_argocd import beside_argocd
from tests.bench.beside_clis import beside_clis
from tests.bench.dispatching import dispatching
from tests.bench.figures import Bench
from tests.bench.journaling import journaling
from tests.bench.keys import paging, typing
from tests.bench.peers import peers
from tests.bench.reading import reading
from tests.bench.resting import idle, loop, output
from tests.bench.starting import listing, starting

BENCHES = (
    Bench("start", "process start to first paint, to a complete frame, to live rows", starting),
    Bench("list", "10,000 pods: asked for to painted", listing),
    Bench("keys", "key to frame at 10,000 rows, quiet and with 500 changes a second; a filter's letters", typing),
    Bench("pages", "page down at 50,000 rows; memory", paging),
    Bench("idle", "CPU, bytes and memory while nothing happens", idle),
    Bench("output", "bytes for a row, a cursor move, 500 changes a second; memory with 10,000 pods", output),
    Bench("loop", "longest gaps of the event loop: listing 20,000 pods, a terminal that nobody reads", loop),
    Bench("reading", "lists and watches: pods and events a second, demo and real API server; decoding alone", reading),
    Bench("journal", "operations a second, each durable before its call", journaling),
    Bench("dispatch", "decision to request, calls at rest, polls, recovery, by the number of local triggers", dispatching),
    Bench("clis", "a pushed commit applied: ours, and by the flux command line, on real controllers", beside_clis),
    Bench("argocd", "a pushed commit synced: ours, and by the argocd command line, on a real Argo CD", beside_argocd),
    Bench("peers", "k9s beside us on the same server", peers),
)
