"""Look-alike cycles: phases, drawn edits, and the episodes that physics makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.progress.manipulation import parse_manipulation
from structrl_ros.progress.operators import Operator
from structrl_ros.sim.counterfactual.stage import Take
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.training.voc_cycle_phases import count_phases
from structrl_ros.training.voc_cycle_phases import cycle_phases
from structrl_ros.training.voc_cycle_phases import plan_cycle_edits
from structrl_ros.training.voc_cycles import cycles_instruction
from structrl_ros.training.voc_sets import family_of
from structrl_ros.training.voc_sets import recurs

BLOCK = 'square_block_1'
#: Four insertions: h is a frame in which the block is held.
HELD = '...hhhh....hhh...hhhh....hhh...hhhh....hhh...hhhh...'


def phases_of(held):
    takes = [Take(np.zeros(1), {}, BLOCK if letter == 'h' else '') for letter in held]
    return cycle_phases(takes, BLOCK)


def test_a_cycle_is_putting_on_and_taking_off_with_a_release_each():
    phases = phases_of('..hh...hh..')
    kinds = ''.join(
        p.primitive.value[0].upper() if p.is_release else p.primitive.value[0] for p in phases
    )
    assert kinds == 'ppppPPgggGG'
    assert count_phases(phases_of(HELD)) == 7
    assert recurs([[p.primitive, p.target, p.is_release] for p in phases_of(HELD)])


def test_a_lost_grip_is_another_phase_and_so_is_seen():
    assert count_phases(phases_of(HELD.replace('hhhh', 'h..h', 1))) != 7


def test_failures_begin_in_any_cycle_and_end_with_their_phase():
    phases = phases_of(HELD)
    starts = set()
    for seed in range(20):
        planned = plan_cycle_edits(cycles_instruction(4), phases, np.random.default_rng(seed))
        edits = {edit.operator.value: edit for edit, _ in planned}
        assert len(edits) == 8
        assert edits['background_change'].frames == range(len(phases))
        for edit, target in planned:
            assert target == (BLOCK if edit.operator.is_negative else '')
            if edit.operator.is_persistent:
                continue
            assert len({phases[i].primitive for i in edit.frames}) == 1
            if edit.operator is Operator.EMPTY_GRASP:
                assert not any(phases[i].is_release for i in edit.frames)
                continue
            assert edit.stop == len(phases) or (
                phases[edit.stop].primitive != phases[edit.start].primitive
            )
        starts.add(edits['wrong_object'].start)
    assert len(starts) > 2


def test_the_sentence_has_two_subgoals_of_one_thing():
    parsed = parse_manipulation(cycles_instruction(4))
    assert parsed.is_multi_stage
    assert not parsed.has_many_objects
    assert parsed.target == 'square block'


@pytest.mark.sim
@pytest.mark.slow
def test_cycles_of_the_tabletop_look_alike_at_another_progress(tmp_path):
    words = ('data', 'cycles', tmp_path / 'new', '--episodes', 1, '--frames', 48, '--size', 64)
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    (record,) = read_manifest(tmp_path / 'new')
    assert record.task == 'peg_insertion_cycles'
    assert family_of(record, None) is VocFamily.TEMPORAL
    assert {family_of(record, edit) for edit in record.edits} == {VocFamily.OOD_TEMPORAL}
    head = read_pictures(tmp_path / 'new', record.file)['head'].astype(np.float64)
    apart = np.abs(head[:, None] - head[None]).mean(axis=(2, 3, 4))
    frames = np.arange(len(head))
    of_other_cycles = np.abs(frames[:, None] - frames[None]) >= 8
    nearest = np.where(of_other_cycles, apart, np.inf).min(axis=1)
    assert np.median(nearest) < 0.5 * np.median(np.diagonal(apart, 1))
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(result.exception, ParameterError)
