"""The command line. Each command lives in a module of its own that is imported when it is called,
so that `specdec --help` and the app's first paint do not wait for Polars or OpenVINO."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Final

import click

from explorer.cli.errors import Problem

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    # name: (module under explorer.cli.commands, one line of help)
    "demo": ("demo", "Run the bundled sweep on the bundled models and show it."),
    "run": ("run", "Run a sweep file, each configuration in a fresh process."),
    "watch": ("watch", "Attach to a sweep, running or finished."),
    "stop": ("control", "Stop, skip a run, or stop after this run: from any terminal."),
    "check": ("check", "What would run, what is refused and why."),
    "inspect": ("inspect", "Look into a model folder; with two folders: are they a pair?"),
    "export": ("export", "Export a model by the recipe that works (optimum-intel)."),
    "table": ("table", "The run table: filter, sort, pivot, print."),
    "predict": ("predict", "Predicted against measured, break-even, best NAT."),
    "forecast": ("forecast", "Predict a whole grid before any speculative run."),
    "import": ("import_", "Take in results of llm_bench, llama-bench or vLLM, or a data-set folder."),
    "publish": ("publish", "Write runs as a data-set folder (CSV, JSONL, Parquet) with a card."),
    "serve": ("serve", "The same app in a browser, for this machine only."),
    "doctor": ("doctor", "Versions, devices, what disturbs measuring here."),
    "paths": ("paths", "Where results, state and configuration lie."),
}


class LazyGroup(click.Group):
    """A group that lists its commands from a table and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"explorer.cli.commands.{COMMANDS[cmd_name][0]}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option(
    "--data", metavar="DIR", help="Folder of results (default: SPECDEC_DATA, or the user's data folder)."
)
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--no-mouse", is_flag=True, help="No mouse reporting: saves bandwidth over SSH.")
@click.version_option(package_name="specdec-explorer")
@click.pass_context
def cli(ctx: click.Context, data: str | None, ascii_only: bool, no_mouse: bool) -> None:
    """Does a draft model speed your target up, on which device does it belong, and how many tokens
    should it propose?

    Without a command: opens the app.
    """
    if ctx.invoked_subcommand is None:
        from explorer.launch import open_app

        ctx.exit(open_app(data=data, ascii_only=ascii_only, mouse=not no_mouse))


def main() -> None:
    """Entry point: exit codes 0 done, 1 something refused or failed, 2 wrong input, 130 interrupted."""
    _prepare_streams()
    code = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        # A reader that left (`| head`) is no failure; a full disk behind `>` is.
        if not isinstance(error, BrokenPipeError):
            click.echo(f"specdec: output not written: {error.strerror}", err=True)
            code = code or 1
        # What could not be written must not be tried again while Python closes down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the caller (`>&-`): talk into the void rather than die of it.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
            continue
        # A Windows console or a pipe may have a code page that lacks our glyphs: never die of that.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _run() -> int:
    try:
        code = cli.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Problem as error:
        click.echo(f"specdec: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"specdec: {where}{error.strerror or error}", err=True)
        return 1
    return code if isinstance(code, int) else 0
