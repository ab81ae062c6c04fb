"""`specdec paths`: where things lie."""

from __future__ import annotations

import json

import click

from explorer.cli.options import data_dir, data_option


def places(data: str | None) -> list[tuple[str, str, str]]:
    """(name, path, what it holds) of every file and folder that the program reads or writes."""
    from sweeps import paths

    config, state = paths.config(), paths.state()
    return [
        ("results", str(paths.results(data)), "one folder a sweep (--data, SPECDEC_DATA)"),
        ("state", str(state), "the machine's lock and caches (SPECDEC_STATE)"),
        ("session", str(state / "session.json"), "what the app remembers"),
        ("clipboard", str(state / "clipboard.txt"), "what the app copied last"),
        ("config", str(config), "what you edit (SPECDEC_CONFIG)"),
        ("keys", str(config / "keys.toml"), 'your own keys: "watch.follow" = "F"'),
        ("sweeps", str(paths.user_sweeps()), "your own sweep files"),
        ("presets", str(paths.presets()), "sweep files that ship with the program"),
        ("models", str(paths.bundled("models")), "the demo models"),
        ("published", str(paths.bundled("published")), "published measurements"),
    ]


@click.command(help="Where results, state and configuration lie.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="A JSON object: name to path.")
@click.pass_context
def command(ctx: click.Context, data: str | None, as_json: bool) -> None:
    """Print name, path and meaning, one a line."""
    found = places(data_dir(ctx, data))
    if as_json:
        click.echo(json.dumps({name: path for name, path, _ in found}, indent=1))
        return
    width = max(len(path) for _, path, _ in found)
    for name, path, about in found:
        click.echo(f"{name:<10} {path:<{width}}  {about}")
