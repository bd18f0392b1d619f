"""``evenhand``: finds the command and turns errors into exit codes.

0 complete, 1 failed, 2 bad usage, suite or environment (one line, no traceback), 3 finished with cells missing,
130 interrupted. A command is loaded when it is asked for, so that ``status`` does not wait for what ``run`` needs; its
logic belongs to its module in ``commands``.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Annotated, NamedTuple

import typer
from typer._click.exceptions import ClickException
from typer.exceptions import Abort

from flows.commands.console import say
from flows.home import home
from flows.keeper import ensure, use
from storage.errors import UserError


class Command(NamedTuple):
    """Where a command is, and what it does in a line."""

    place: str
    help: str


COMMANDS: dict[str, Command] = {
    "run": Command("flows.commands.run:run", "Run a suite from its sources to its report; resumes by itself."),
    "plan": Command("flows.commands.plan:plan", "Cells, calls, tokens, dollars and time of a run. Makes no call."),
    "status": Command("flows.commands.status:status", "What is done, missing and spent; works while a run is going."),
    "retry": Command("flows.commands.run:retry", "Run what failed, nothing else."),
    "report": Command("flows.commands.report:report", "The page, metrics.json and the tables of what is stored."),
    "export": Command("flows.commands.export:export", "What is stored: a RobustReview release, Parquet or CSV."),
    "import": Command("flows.commands.import_:app", "Take in what others published: import release DIR."),
    "audit": Command("flows.commands.audit:app", "People's audit of versions: audit sample, audit import."),
    "metrics": Command("flows.commands.metrics:app", "The metrics of anyone's scores: CSV, Parquet or JSON lines."),
    "trace": Command("flows.commands.trace:trace_command", "One cell from request to score: attempts, answer, cost."),
    "verify": Command("flows.commands.verify:verify_command", "Re-hash texts, blobs and keys; say what is damaged."),
    "serve": Command("flows.commands.serve:serve", "Prefect's UI, a worker, deployments and limits, on one machine."),
    "doctor": Command("flows.commands.doctor:doctor", "TeX, Python, store, Prefect, keys, disk: ok or what to do."),
}


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"evenhand {version('evenhand')}")
        raise typer.Exit


def _root(
    _asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version, and nothing else.")
    ] = False,
) -> None:
    pass


def _placeholder() -> None:
    """Stands for a command that was not asked for, so that --help can list it."""


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """The application with the one command that the arguments ask for loaded, and the others listed."""
    app = typer.Typer(
        name="evenhand",
        help="Do AI judges of science weigh the science or the prose?",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    asked = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, command in COMMANDS.items():
        if name != asked:
            app.command(name, help=command.help)(_placeholder)
            continue
        module, _, attribute = command.place.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, help=command.help)
        else:
            app.command(name, help=command.help)(found)
    return app


@contextlib.contextmanager
def _server_under_way(arguments: Sequence[str]) -> Iterator[None]:
    """Let the local Prefect server start while the rest of a command that needs it is loading."""
    asked = next((argument for argument in arguments if not argument.startswith("-")), None)
    if asked not in ("run", "retry") or "--help" in arguments or os.environ.get("PREFECT_API_URL"):
        yield
        return
    folder = home() / "prefect"
    with use(folder):
        ensure(folder)
        yield


def main() -> None:
    """The console script's entry point."""
    try:
        with _server_under_way(sys.argv[1:]):
            sys.exit(_run(sys.argv[1:]))
    except (Abort, KeyboardInterrupt):
        say("evenhand: interrupted; what was answered is kept, and the same command goes on from there")
        sys.exit(130)


def _run(arguments: Sequence[str]) -> int:
    try:
        code = build_app(arguments)(standalone_mode=False)
    except UserError as error:
        say(f"evenhand: {error}")
        code = 2
    except ClickException as error:
        error.show(sys.stderr)
        code = 2
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    main()
