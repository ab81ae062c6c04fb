"""Running a plan from the command line: here, detached, or under the app's eyes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from explorer.cli.errors import Problem
from sweeps.plan.model import Plan
from sweeps.supervise.folder import SweepFolder


def has_terminal() -> bool:
    """Whether there is a terminal to open the app on."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def shell_line(*words: str, data: str | None = None) -> str:
    """A command as it can be typed here, with the results folder where it is not the usual one."""
    parts = ["specdec", *words, *(["--data", data] if data else [])]
    return subprocess.list2cmdline(parts) if sys.platform == "win32" else shlex.join(parts)


def prepared(results: Path, plan: Plan, toml: str, *, fresh: bool = False) -> SweepFolder:
    """The sweep's results folder, made ready. Raises Problem (exit 1) while another sweep runs here."""
    from sweeps.supervise.owner import Busy
    from sweeps.supervise.prepare import prepare

    try:
        return prepare(results, plan, toml, fresh=fresh)
    except Busy as busy:
        raise Problem(f"{busy}; watch it with `specdec watch`, stop it with `specdec stop`", 1) from None


def supervise_here(
    folder: SweepFolder, plan: Plan, again: str, *, only: Sequence[str] = (), retry_failed: bool = False
) -> int:
    """Run in this process with progress on standard error. Returns the exit code.

    `again` is the command that goes on with the sweep after a Ctrl-C; with `only`, those runs of the plan and
    what they are compared with are all that is counted.
    """
    from explorer.cli.progress import ProgressLine
    from sweeps.supervise.owner import Busy, MachineLock
    from sweeps.supervise.progress import read_progress
    from sweeps.supervise.signals import stop_on_signals
    from sweeps.supervise.supervisor import Supervisor
    from sweeps.supervise.tables import write_tables

    stop_on_signals(hang_up=False)
    chosen = with_needs(plan, only) if only else None
    asked = [run for run in plan.runs if chosen is None or run.id in chosen]
    progress = ProgressLine(msgspec.structs.replace(plan, runs=tuple(asked)))
    supervisor = Supervisor(
        folder,
        plan,
        only=chosen,
        retry_failed=retry_failed,
        on_event=progress.event,
        after_run=write_tables,
    )
    earlier = read_progress(folder.journal)
    if retry_failed:
        earlier.forget_failures()
    progress.restore(earlier)
    if not any(earlier.missing(plan, run) for run in asked if not run.refused):
        click.echo("Nothing left to measure: all of this plan is recorded (--fresh measures anew).", err=True)
    try:
        with MachineLock(folder.path):
            result = supervisor.run()
    except Busy as busy:
        raise Problem(f"{busy}; watch it with `specdec watch`, stop it with `specdec stop`", 1) from None
    if result.verdict == "interrupted":
        click.echo(f"Stopped. What was finished stays in {folder.path}.\nGo on with: {again}", err=True)
        return 130
    if result.verdict == "stopped":
        click.echo(f"Stopped as asked. Results so far: {folder.path}\nGo on with: {again}", err=True)
        return 130
    return int(result.failed > 0)


def supervise_detached(
    folder: SweepFolder, plan: Plan, *, only: Sequence[str] = (), retry_failed: bool = False
) -> int:
    """Start a supervisor that outlives this terminal; returns its pid. Raises Problem (exit 1)."""
    from sweeps.supervise.detach import NotStarted, start_detached

    try:
        chosen = sorted(with_needs(plan, only)) if only else None
        return start_detached(folder, only=chosen, retry_failed=retry_failed)
    except NotStarted as error:
        raise Problem(f"not started: {error}", 1) from None


def with_needs(plan: Plan, only: Sequence[str], option: str = "--only") -> frozenset[str]:
    """The chosen runs (an unambiguous beginning of an id is enough) and the runs that they are compared
    with. Raises Problem for an id that is not in the plan."""
    wanted: set[str] = set()
    for prefix in only:
        found = [run for run in plan.runs if run.id.startswith(prefix)]
        if len(found) != 1 or not prefix:
            what = "no run" if not found else "several runs"
            raise Problem(
                f"{option} {prefix or '(empty)'}: {what} of that id in the plan (--dry-run lists them)"
            )
        run = found[0]
        needs = (run.id, run.baseline, run.baseline_default, run.draft_alone)
        wanted.update(need for need in needs if need)
    return frozenset(wanted)


def results_folder(data: str | None) -> Path:
    """Where sweeps are written, checked to be writable. Raises Problem (exit 2)."""
    from sweeps.paths import results

    folder = results(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Problem(f"{folder}: cannot be made ({error.strerror}); choose another with --data") from None
    return folder


def print_results(folder: SweepFolder, format_: str = "text") -> None:
    """The sweep's table on standard output, and (as text) what it says in three lines."""
    from explorer.cli.reading import reading
    from explorer.cli.render import print_frame
    from sweeps.store.frames import load_sweep_runs, to_look_at

    runs = load_sweep_runs(folder.path)
    if format_ == "text":
        runs = to_look_at(runs)
    print_frame(runs, format_)
    if format_ == "text":
        click.echo("")
        for line in reading(runs):
            click.echo(line)
