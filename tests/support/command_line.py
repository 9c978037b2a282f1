"""Run the command line in this process, and programs in others."""

import os
import subprocess
from pathlib import Path

from typer.testing import CliRunner, Result

from philly_analysis.cli import app


def invoke(*words: object) -> Result:
    """Run a command; an error that is not an exit is raised."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run(*words: object) -> str:
    """Run a command that succeeds, and return its output."""
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def output_of(
    *words: str | Path, cwd: Path | None = None, timeout_s: float | None = None, **variables: str
) -> str:
    """Run a program that succeeds, with further environment variables, and return its output."""
    done = subprocess.run(
        words,
        cwd=cwd,
        env=os.environ | variables,
        timeout=timeout_s,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
