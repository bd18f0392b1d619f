"""``evenhand``: puts the commands together and turns errors into exit codes.

0 complete, 1 failed, 2 bad usage, suite or environment (one line, no traceback), 3 finished with cells missing,
130 interrupted. A command's own logic belongs to its module in ``commands``.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from flows.commands import doctor, metrics, plan, report, run, status, verify
from flows.commands.console import say
from storage.errors import UserError

app = typer.Typer(
    name="evenhand",
    help="Do AI judges of science weigh the science or the prose?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("plan")(plan.plan)
app.command("status")(status.status)
app.command("retry")(run.retry)
app.command("report")(report.report)
app.add_typer(metrics.app, name="metrics")
app.command("verify")(verify.verify_command)
app.command("doctor")(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"evenhand {version('evenhand')}")
        raise typer.Exit


@app.callback()
def _root(
    _version_asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version, and nothing else.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The console script's entry point."""
    try:
        code = app(standalone_mode=False)
    except UserError as error:
        say(f"evenhand: {error}")
        code = 2
    except Abort:
        code = 130
    except TyperException as error:
        error.show(sys.stderr)
        code = 2
    except KeyboardInterrupt:
        say("evenhand: interrupted; what was answered is kept, and the same command goes on from there")
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
