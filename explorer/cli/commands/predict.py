"""`specdec predict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from explorer.cli.errors import Problem, pointed, say_damage
from explorer.cli.options import data_dir, data_option, format_option

if TYPE_CHECKING:
    import polars as pl

    from sweeps.costmodel.calibrate import Probes
    from sweeps.costmodel.cases import Case
    from sweeps.costmodel.evidence import Strings

NOTHING_LEFT = "no speculative row with a speed-up is left to predict"
HOLD_OUTS = ("run", "nat", "draft", "device", "prompt")
COMPACT = (
    "target",
    "draft",
    "draft_device",
    "path",
    "prompt",
    "num_assistant_tokens",
    "speedup",
    "predicted_speedup",
    "predicted_lo",
    "predicted_hi",
    "error",
    "leviathan_r",
    "leviathan_alpha",
    "round_budget",
    "linear_verify",
    "break_even_draft_ms",
    "best_nat",
    "because",
)
"""Columns shown as text; every other format has all."""


@click.command(name="predict")
@data_option
@click.option("--sweep", metavar="S", help="One sweep: its name, or the name of its folder.")
@click.option("--where", metavar="SQL", default="", help="Only these rows teach and are predicted.")
@click.option(
    "--fit", metavar="COL=V,..", help="Learn from these rows only (nat, draft, device, prompt, path)."
)
@click.option(
    "--hold-out", type=click.Choice(HOLD_OUTS), default="run", show_default=True, help="Leave out in turn."
)
@click.option(
    "--placement",
    is_flag=True,
    help="Which draft on which device wins for each prompt, and how sure that is.",
)
@click.option("--published", is_flag=True, help="Published rows as well (always, while you have none).")
@click.option(
    "--target-ms", type=click.FloatRange(min=0, min_open=True), help="What-if: T, the target alone per token."
)
@click.option("--draft-ms", type=click.FloatRange(min=0), help="What-if: draft time per proposal.")
@click.option("--acceptance", type=click.FloatRange(0, 1), help="What-if: accepted / proposed at --nat.")
@click.option(
    "--nat", type=click.IntRange(1, 64), default=3, show_default=True, help="What-if: NAT of --acceptance."
)
@click.option("--verify-ms", type=click.FloatRange(min=0), help="What-if: verifying one token.")
@click.option("--verify-slope", type=click.FloatRange(min=0), help="What-if: ms for each proposal verified.")
@click.option("--rest-ms", type=click.FloatRange(min=0), help="What-if: neither draft nor verify, per round.")
@click.option(
    "--path", type=click.Choice(["cb", "stateful"]), default="cb", show_default=True, help="What-if: engine."
)
@click.option("--budget", type=click.IntRange(min=2), default=128, show_default=True, help="What-if: tokens.")
@format_option
@click.pass_context
def command(ctx: click.Context, /, data: str | None, format_: str, **options: Any) -> None:
    """Predicted against measured, break-even, best NAT.

    Without what-if options every speculative row of the table is predicted from other rows. With
    --target-ms, --draft-ms and --acceptance: the predicted curve over NAT.

    \b
    specdec predict --fit nat=3
    specdec predict --hold-out prompt --format csv > predicted.csv
    specdec predict --placement
    specdec predict --target-ms 82 --draft-ms 9.4 --acceptance 0.4 --nat 3
    """
    from explorer.cli.render import marked_devices, print_frame

    names = ("target_ms", "draft_ms", "acceptance")
    given = [name for name in names if options[name] is not None]
    if given or any(options[name] is not None for name in ("verify_ms", "verify_slope", "rest_ms")):
        if len(given) < len(names):
            missing = ", ".join("--" + name.replace("_", "-") for name in names if name not in given)
            raise Problem(f"a what-if also needs {missing}")
        print_frame(_what_if(options), format_, all_columns=True)
        return
    frames = _loaded(data_dir(ctx, data, must_exist=True), options)
    if options["placement"]:
        if options["fit"] or ctx.get_parameter_source("hold_out") is not ParameterSource.DEFAULT:
            raise Problem("--placement learns from all rows: leave --fit and --hold-out out")
        frame, text = _placed(frames)
        print_frame(frame, format_, all_columns=True)
    else:
        frame, text = _validated(frames, options)
        compact = format_ in ("text", "md")
        shown = marked_devices(frame).select(COMPACT) if compact else frame
        print_frame(shown, format_, all_columns=True)
    click.echo(text, err=True)


class Frames(NamedTuple):
    """What predictions are made from."""

    runs: pl.DataFrame
    rounds: pl.DataFrame
    strings: Strings
    probes: Probes


def _loaded(data: str | None, options: dict[str, Any]) -> Frames:
    from sweeps.exchange.rows import ExchangeError
    from sweeps.paths import results
    from sweeps.store import frames
    from sweeps.store.query import FilterError, filter_rows

    sweep = options["sweep"]
    try:
        damage: frames.Damage = {}
        runs = frames.load_runs(data, sweep, published=options["published"], damage=damage)
        if runs.is_empty() and sweep is None:
            runs = frames.load_runs(data, published=True)
            click.echo(f"no results in {results(data)} yet: these are published rows", err=True)
        rounds = frames.load_rounds(data, sweep)
        strings, probes = _probed(data, sweep)
    except ExchangeError as error:
        raise Problem(str(error), exit_code=1) from None
    except OSError as error:
        raise Problem(f"{error.filename}: cannot be read: {error.strerror}", exit_code=1) from None
    say_damage(damage)
    if runs.is_empty():
        raise Problem(f"--sweep {sweep}: no such sweep in {results(data)}")
    try:
        kept = filter_rows(runs, options["where"])
    except FilterError as error:
        raise Problem(pointed("--where", options["where"], error)) from None
    # Baselines and drafts alone stay: the condition is about speculative rows.
    import polars as pl

    plain = runs.filter(pl.col("kind") == "plain")
    return Frames(pl.concat([plain, kept.filter(pl.col("kind") != "plain")]), rounds, strings, probes)


def _validated(frames: Frames, options: dict[str, Any]) -> tuple[pl.DataFrame, str]:
    from sweeps.costmodel.model import tables
    from sweeps.costmodel.validate import summary, validate

    fitted = _fit(options["fit"]) if options["fit"] else None
    if fitted and not any(map(fitted, tables(frames.runs, frames.rounds).cases)):
        raise Problem(f"--fit {options['fit']}: no speculative row here is one to learn from")
    frame = validate(
        frames.runs,
        frames.rounds,
        hold_out=options["hold_out"],
        fitted=fitted,
        strings=frames.strings,
        probes=frames.probes,
    )
    if frame.is_empty():
        raise Problem(NOTHING_LEFT, exit_code=1)
    return frame, _summary_text(summary(frame))


def _placed(frames: Frames) -> tuple[pl.DataFrame, str]:
    from sweeps.costmodel.placement import placements

    frame, said = placements(frames.runs, frames.rounds, frames.strings, frames.probes)
    if frame.is_empty():
        raise Problem(NOTHING_LEFT, exit_code=1)
    return frame, "\n".join(said)


def _summary_text(frame: pl.DataFrame) -> str:
    lines = []
    for row in frame.iter_rows(named=True):
        line = (
            f"{row['rows_of']:9} {row['method']:15} {row['rows']:4} rows"
            f"  median error {row['median_error']:.1%}  worst {row['worst_error']:.1%}"
        )
        if row["coverage"] is not None:
            line += f"  90 % interval holds {row['coverage']:.0%}"
        lines.append(line)
    return "\n".join(lines)


def _probed(data: str | None, sweep: str | None) -> tuple[dict[tuple[str, str, str, str], str], Probes]:
    """Agreement strings over the baselines' texts, and what was found out outside of the engines, from the
    journals."""
    from sweeps.costmodel.evidence import longest, strings_of
    from sweeps.costmodel.model import NO_PROBES
    from sweeps.costmodel.probes import probes_of
    from sweeps.store.frames import sweep_folders
    from sweeps.store.tables import Tables

    strings: dict[tuple[str, str, str, str], str] = {}
    probes = NO_PROBES
    for folder in sweep_folders(data, sweep):
        tables = Tables(folder)
        tables.refresh()
        strings = longest(strings, strings_of(tables.state))
        probes += probes_of(tables.state)
    return strings, probes


FITS: dict[str, Callable[[Case], str]] = {
    "nat": lambda c: str(c.nat),
    "draft": lambda c: c.key.draft,
    "device": lambda c: c.key.draft_device,
    "prompt": lambda c: c.prompt,
    "path": lambda c: c.key.path,
}


def _fit(text: str) -> Callable[[Case], bool]:
    name, equals, values = text.partition("=")
    if not equals or name.strip() not in FITS or not values.strip():
        raise Problem(
            f"--fit {text}: expected COLUMN=VALUE[,VALUE] with one of {', '.join(FITS)}, such as nat=3"
        )
    wanted = {value.strip() for value in values.split(",")}
    odd = sorted(value for value in wanted if name.strip() == "nat" and not value.isdigit())
    if odd:
        raise Problem(f"--fit {text}: {odd[0]} is no number of proposals; such as nat=3 or nat=1,5")
    value_of = FITS[name.strip()]
    return lambda case: value_of(case) in wanted


def _what_if(options: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    from sweeps.costmodel import formulas
    from sweeps.costmodel.answers import best_nat, break_even_alpha, break_even_draft_ms
    from sweeps.costmodel.evidence import alpha_from_acceptance
    from sweeps.costmodel.params import Params, round_budget
    from sweeps.costmodel.predict import predict
    from sweeps.costmodel.rules import rule_of
    from sweeps.costmodel.terms import NAMES, default_prior

    target, draft, path, budget = (options[n] for n in ("target_ms", "draft_ms", "path", "budget"))
    prior = dict(zip(NAMES, default_prior(target, draft, path).mean.tolist(), strict=True))
    alpha = alpha_from_acceptance(options["acceptance"], rule_of(path), options["nat"], budget)
    names = {"verify_ms": "verify_base", "verify_slope": "verify_slope", "rest_ms": "rest"}
    value = {new: prior[new] if options[old] is None else options[old] for old, new in names.items()}
    assumed = [f"{new} {value[new]:.3g} ms" for old, new in names.items() if options[old] is None]
    params = Params(
        target_ms=target,
        draft_ms=draft,
        verify_base_ms=value["verify_base"],
        verify_slope_ms=value["verify_slope"],
        rest_ms=value["rest"],
        rest_mismatch_ms=prior["rest_mismatch"] if options["rest_ms"] is None else 0.0,
        path=path,
        budget=budget,
        alpha=alpha,
    )
    nats = range(1, max(10, options["nat"]) + 1)
    rows = []
    for nat in nats:
        found = predict(params, nat)
        spent = round_budget(params, nat)
        r = float(found.counts.acceptance) if found.counts is not None else None
        fast_enough = break_even_draft_ms(params, nat)
        rows.append(
            {
                "num_assistant_tokens": nat,
                "predicted_speedup": found.speedup,
                "predicted_lo": found.lo,
                "predicted_hi": found.hi,
                "acceptance": r,
                "tokens_per_round": spent.tokens,
                "proposals_per_round": spent.proposals,
                "draft_ms": spent.draft_ms,
                "verify_ms": spent.verify_ms,
                "rest_ms": spent.rest_ms,
                "break_even_draft_ms": fast_enough if fast_enough > 0 else None,
                "break_even_alpha": break_even_alpha(params, nat),
                "leviathan_alpha": formulas.leviathan(alpha, nat, draft, target),
            }
        )
    best, top = best_nat(params, nats)
    verdict = f"best NAT {best}, {top:.2f}x" if best else "no NAT is faster than the target alone"
    click.echo(
        f"alpha {alpha:.3f}; {verdict}" + (f"; assumed: {', '.join(assumed)}" if assumed else ""), err=True
    )
    return pl.DataFrame(rows)
