"""After a supervisor that was killed: events that its last worker wrote and nobody took over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from sweeps.events.journal import JournalReader
from sweeps.events.types import Agreement, AnyEvent, RepDone, RunEnded, RunStarted
from sweeps.events.writer import JournalWriter
from sweeps.supervise.attempt import Spool
from sweeps.supervise.folder import SweepFolder
from sweeps.supervise.progress import read_progress


def end_orphans(folder: SweepFolder) -> None:
    """End workers of a supervisor that was killed. They end by themselves when it dies, unless they were
    stopped (SIGSTOP) or hang in native code; the pid alone may be another process's by now."""
    import psutil

    for event in started_and_not_ended(JournalReader(folder.journal).drain()):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(event.pid)
            ours = "sweeps.worker" in process.cmdline() and str(folder.spool) in " ".join(process.cmdline())
            if ours and process.create_time() <= event.t + 5.0:
                process.kill()


def started_and_not_ended(events: Iterable[AnyEvent]) -> list[RunStarted]:
    """Workers of which no end was recorded."""
    running: dict[str, RunStarted] = {}
    for event in events:
        if isinstance(event, RunStarted):
            running[event.run] = event
        elif isinstance(event, RunEnded):
            running.pop(event.run, None)
    return list(running.values())


def recover(folder: SweepFolder) -> int:
    """Move finished reps from left-over spool files into the journal; returns how many were missing there.

    Only whole reps count: what was cut off is measured again.
    """
    files = sorted(folder.spool.glob("*.events.jsonl")) if folder.spool.is_dir() else []
    if not files:
        return 0
    known = read_progress(folder.journal)
    count = 0
    with JournalWriter(folder.journal) as writer:
        for path in files:
            events = Spool(path).take()[1]
            beside = {
                (event.run, event.prompt, event.rep): event
                for event in events
                if isinstance(event, RepDone) and event.beside
            }
            for event in events:
                whole = isinstance(event, Agreement) or (
                    isinstance(event, RepDone) and not event.warmup and not event.drift
                )
                if not whole:
                    continue
                rep = event.rep if isinstance(event, RepDone) else 0
                if isinstance(event, RepDone | Agreement) and rep not in known.reps[event.run, event.prompt]:
                    writer.event(event)
                    known.apply(event)
                    count += 1
                    pair = beside.get((event.run, event.prompt, rep))
                    if pair is not None:
                        writer.event(pair)
    for path in [*files, *folder.spool.glob("*.job.json")]:
        with contextlib.suppress(OSError):
            path.unlink()
    return count
