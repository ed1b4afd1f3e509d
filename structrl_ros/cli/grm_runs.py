"""What `structrl train grm` and `grm-vlm` share: sets, settings, runs that are new or go on."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import TypeVar

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.grm_settings import CurriculumSettings
    from structrl_ros.training.run_directory import RunDirectory

Settings = TypeVar('Settings', bound='CurriculumSettings')


def read_words(
    words: Sequence[str], named: Mapping[str, str]
) -> tuple[list[Path], dict[str, str]]:
    """Return the sets, and the text of each setting.

    Args:
        words: Sets, and `key:=value`.
        named: Settings that have an option of their own, '' where it is not given.

    Raises:
        ParameterError: If a word is no assignment.
    """
    from structrl_ros.cli.up import parse_assignments

    sets = [Path(word) for word in words if ':=' not in word]
    assignments = parse_assignments([word for word in words if ':=' in word])
    return sets, {**assignments, **{key: text for key, text in named.items() if text}}


def read_settings(
    sets: Sequence[Path], assignments: Mapping[str, str], of: type[Settings]
) -> Settings:
    """Return the settings of a new run.

    Raises:
        ParameterError: If there is no set, or a setting is unknown or not allowed.
    """
    from structrl_ros.training.settings_document import make_settings

    if not sets:
        raise ParameterError('no set to train on; structrl data counterfactual makes one')
    return make_settings(of, {}, assignments)


def begin_run(
    sets: Sequence[Path], settings: CurriculumSettings, kind: str, out: Path | None
) -> RunDirectory:
    """Return a new run, in a directory of its own.

    Raises:
        CheckpointError: If a set has no manifest.
        ParameterError: If the directory is taken.
    """
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.training.grm_run import run_document
    from structrl_ros.training.run_directory import create_run

    document = run_document(sets, settings, kind)
    return create_run(new_run_directory(out), document)


def go_on(
    sets: Sequence[Path],
    assignments: Mapping[str, str],
    of: type[Settings],
    kind: str,
    out: Path | None,
) -> tuple[RunDirectory, list[Path], Settings]:
    """Return the run in the directory that is named, as it was left, its sets and settings.

    Raises:
        ParameterError: If it is not named, or is to be changed.
        CheckpointError: If it is no run of this kind.
    """
    from structrl_ros.training.grm_run import run_of_kind
    from structrl_ros.training.run_directory import open_run

    if out is None:
        raise ParameterError('--resume needs --out: the run to go on with')
    given = [*map(str, sets), *assignments]
    if given:
        raise ParameterError(f'{given[0]}: a run goes on as it began; leave it out with --resume')
    run = open_run(out)
    try:
        return run, *run_of_kind(run.config, of, kind)
    except BaseException:
        run.close()
        raise
