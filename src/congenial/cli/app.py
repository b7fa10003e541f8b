"""The commands with their arguments and help; each calls its own file, which is imported only then."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from congenial.cli.ending import code_of
from congenial.errors import CongenialError


class _Commands(TyperGroup):
    """A group whose commands end as `ending.py` says, whoever calls them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CongenialError as error:
            raise typer.Exit(code_of(error)) from None
        except (KeyboardInterrupt, Exception) as error:
            # typer's own errors and exits carry their code and pass; so does a reader who has gone
            if hasattr(error, "exit_code") or isinstance(error, (typer.Abort, BrokenPipeError)):
                raise
            raise typer.Exit(code_of(error)) from None


app = typer.Typer(
    name="congenial",
    cls=_Commands,
    help="Release tables of counts with differential privacy and exact facts.\n\n"
    "Begin with `congenial demo`, or with `congenial init counts.csv` on a file of your own.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

RequestFile = Annotated[str, typer.Argument(metavar="REQUEST", help="The request, YAML or JSON.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
WithoutData = Annotated[
    bool, typer.Option("--without-data", help="From the declared domains alone; opens no source.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands there.")]


def _version(wanted: bool) -> None:
    if wanted:
        from congenial.releases.versions import version

        print(f"congenial {version()}")
        raise typer.Exit()


@app.callback()
def front(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Release tables of counts with differential privacy and exact facts."""


@app.command(short_help="A commented request for a file.")
def init(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="CSV, Parquet, Arrow IPC or DuckDB file.")],
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="Where the request goes.")] = None,
    force: Force = False,
) -> None:
    """Write a commented request for a file: axes, categories, a first measurement.

    \b
    congenial init counts.csv                    print it
    congenial init counts.csv --out release.yaml
    """
    from congenial.cli import requesting

    requesting.init(source, out, force=force)


@app.command(short_help="What would be drawn, how, at what cost.")
def plan(
    request: RequestFile,
    without_data: WithoutData = False,
    json: Json = False,
) -> None:
    """Say what would be drawn, how, at what cost, how large the noise will be.

    What it prints is for the curator's eyes; with --without-data it can be published.

    \b
    congenial plan release.yaml
    congenial plan release.yaml --without-data   for an approval board
    """
    from congenial.cli import planning

    planning.plan(request, without_data=without_data, json=json)


@app.command(short_help="Draw once and write the bundle.")
def release(
    request: RequestFile,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder to make.")],
    force: Force = False,
    engine: Annotated[str, typer.Option(metavar="NAME", help="Where the work is done: local.")] = "local",
    json: Json = False,
) -> None:
    """Draw once and write the bundle: table.parquet, table.csv, manifest.json.

    Releasing the same table again spends again.

    \b
    congenial release release.yaml --out counties-2020
    """
    from congenial.cli import releasing

    releasing.release(request, out, force=force, engine=engine, json=json)


@app.command(short_help="Whether a release is whole.")
def verify(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder that `release` made.")],
    json: Json = False,
) -> None:
    """Check a release: files whole, facts and bounds hold, the law can be rebuilt.

    \b
    congenial verify counties-2020
    """
    from congenial.cli import releasing

    releasing.verify(folder, json=json)


@app.command(short_help="Many draws, for the curator's eyes.")
def simulate(
    request: RequestFile,
    draws: Annotated[int, typer.Option(metavar="N", help="How many whole tables.")],
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same draws.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="A .parquet or .csv file.")],
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw many tables for the curator's eyes. Confidential: never publish them.

    Writes a long table that only its owner can read: draw, one column an axis (a hierarchy: one a
    level), count.

    \b
    congenial simulate release.yaml --draws 1000 --seed 1 --out draws.parquet
    """
    from congenial.cli import simulating

    simulating.simulate(request, draws, seed, out, force=force, json=json)


@app.command(short_help="What the facts alone disclose.")
def audit(request: RequestFile, without_data: WithoutData = False, json: Json = False) -> None:
    """Say what the facts disclose before any noise is drawn, and what they leave to protect.

    Over the data it names exact values that would be published: it is for the curator's eyes.

    \b
    congenial audit release.yaml
    congenial audit release.yaml --without-data
    """
    from congenial.cli import auditing

    auditing.audit(request, without_data=without_data, json=json)


@app.command(short_help="What each dataset has spent.")
def ledger(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The ledger that requests name.")],
    json: Json = False,
) -> None:
    """Show what each dataset has spent, what is left and for which tables; check the chain.

    \b
    congenial ledger spent.db
    congenial ledger spent.db --json             for a registry of releases
    """
    from congenial.cli import accounting

    accounting.ledger(file, json=json)


@app.command(short_help="All of it on a bundled table.")
def demo(
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Where its files go; a new temporary folder.")
    ] = None,
) -> None:
    """Release a small bundled table from start to finish.

    \b
    congenial demo
    """
    from congenial.cli import demonstrating

    demonstrating.demo(out)


@app.command(short_help="The request's JSON Schema.")
def schema() -> None:
    """Print the request's JSON Schema.

    \b
    congenial schema > request.schema.json
    """
    from congenial.cli import requesting

    requesting.schema()


def _not_built(name: str, room: str) -> None:
    """A name that the design promises and this version does not have: an error that says so."""

    def command() -> None:
        from congenial.errors import ArgumentError

        raise ArgumentError(
            f"`congenial {name}` is not built yet in this version: it belongs to {room}. "
            "`congenial --help` lists what there is."
        )

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, hidden=True, context_settings=anything)(command)


for _name, _room in (
    ("report", "the room of reports"),
    ("infer", "the room of inference"),
    ("reproduce", "the reproductions of the papers"),
):
    _not_built(_name, _room)
