"""Protocols that are played here: resume, refusal, blinding, workers, Ray, same numbers."""

import dataclasses
import json

import pytest

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.results import load_results
from structrl_ros.training.evaluated_policy import policy_fingerprint
from structrl_ros.training.evaluated_policy import policy_of_word
from structrl_ros.training.evaluation_folder import EPISODES
from structrl_ros.training.evaluation_folder import EVALUATION
from structrl_ros.training.evaluation_folder import SEALED
from structrl_ros.training.evaluation_folder import EvaluationFolder
from structrl_ros.training.evaluation_folder import open_evaluation
from structrl_ros.training.evaluation_pool import PlayerPool
from structrl_ros.training.evaluation_run import OnePlayer
from structrl_ros.training.evaluation_run import run_evaluation
from structrl_ros.training.protocol_document import protocol_of_document

EXPERT = {'policy': 'expert'}
DOCUMENT = {
    'format': 1,
    'name': 'p',
    'body': 'kinematic',
    'tasks': ['kinematic/two_in_basket'],
    'episodes': 5,
    'policies': {'expert': EXPERT},
}
PROTOCOL = protocol_of_document(DOCUMENT)


def changed(**changes):
    return protocol_of_document({**DOCUMENT, **changes})


def run(path, protocol=PROTOCOL, players=OnePlayer, on_record=lambda record: None):
    folder = open_evaluation(path, protocol)
    try:
        return run_evaluation(folder, players, on_record=on_record)
    finally:
        folder.close()


def lines(path):
    return sorted((path / EPISODES).read_text().splitlines())


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp('whole') / 'evaluation'
    run(path)
    return path


def test_a_protocol_is_played_and_its_results_are_kept(whole):
    results = load_results(whole)
    assert results.is_complete
    assert [e.number for e in results.episodes] == list(range(5))
    assert [e.seed for e in results.episodes] == list(range(5))
    assert all(e.success and e.end == 'success' for e in results.episodes)
    assert all(done for e in results.episodes for _, done in e.subtasks)
    assert results.policies[0].fingerprint == policy_fingerprint(PROTOCOL.policies[0], 'kinematic')


class _StopError(Exception):
    pass


@pytest.mark.parametrize('after', [1, 3])
def test_an_interrupted_evaluation_goes_on_to_the_same_file(whole, tmp_path, after):
    seen = []

    def stop(record):
        seen.append(record.number)
        if len(seen) == after:
            raise _StopError

    with pytest.raises(_StopError):
        run(tmp_path / 'e', on_record=stop)
    run(tmp_path / 'e', on_record=lambda r: seen.append(r.number))
    assert seen == list(range(5))
    for name in (EPISODES, 'results.json'):
        assert (tmp_path / 'e' / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize('cut', [1, 60, 400])
def test_a_line_that_a_kill_cut_short_is_played_again(whole, tmp_path, cut):
    run(tmp_path / 'e')
    place = tmp_path / 'e' / EPISODES
    place.write_bytes(place.read_bytes()[:-cut])
    run(tmp_path / 'e')
    assert place.read_bytes() == (whole / EPISODES).read_bytes()


def test_a_finished_evaluation_makes_no_body(whole):
    def never(folder):
        raise AssertionError('nothing is open')

    assert run(whole, players=never).is_complete


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        ({'episodes': 6}, 'was begun with another protocol'),
        ({'seeds': 3}, 'was begun with another protocol'),
        ({'order': 'shuffled'}, 'was begun with order fixed, now shuffled'),
        ({'policies': {'other': EXPERT}}, "policy 'expert' is missing"),
        (
            {'policies': {'expert': {'policy': 'remote', 'server': 'ws://h:1'}}},
            "policy 'expert' is another one",
        ),
        ({'policies': {}}, 'no policy; allowed'),
    ],
)
def test_another_protocol_or_policy_is_refused(whole, change, line):
    with pytest.raises(ParameterError, match=line):
        open_evaluation(whole, changed(**change))


def test_a_second_process_is_refused(tmp_path):
    first = open_evaluation(tmp_path / 'e', PROTOCOL)
    with pytest.raises(ParameterError, match='in use by another process'):
        open_evaluation(tmp_path / 'e', PROTOCOL)
    assert EvaluationFolder(tmp_path / 'e', read_only=True).results().episodes == ()
    first.close()
    open_evaluation(tmp_path / 'e', PROTOCOL).close()


def test_a_reader_leaves_a_line_alone_that_is_being_written(whole, tmp_path):
    run(tmp_path / 'e')
    place = tmp_path / 'e' / EPISODES
    place.write_bytes(place.read_bytes()[:-40])
    before = place.read_bytes()
    assert len(EvaluationFolder(tmp_path / 'e', read_only=True).results().episodes) == 4
    assert place.read_bytes() == before


def test_a_checkpoint_may_move_between_two_runs(tmp_path):
    for name in ('old', 'new'):
        (tmp_path / name).mkdir()
        for file in ('config.json', 'policy.safetensors'):
            (tmp_path / name / file).write_text('the same')
    for name in ('old', 'new'):
        choice = PolicyChoice(name='x', policy='checkpoint', checkpoint=str(tmp_path / name))
        folder = open_evaluation(tmp_path / 'e', dataclasses.replace(PROTOCOL, policies=(choice,)))
        assert folder.policies() == {'x': choice}
        folder.close()
    (tmp_path / 'new' / 'config.json').write_text('changed')
    with pytest.raises(ParameterError, match="policy 'x' is another one"):
        open_evaluation(tmp_path / 'e', dataclasses.replace(PROTOCOL, policies=(choice,)))


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / 'thing').write_text('')
    with pytest.raises(ParameterError, match='holds no evaluation'):
        open_evaluation(tmp_path, PROTOCOL)


@pytest.mark.parametrize(
    ('spoil', 'line'),
    [
        (lambda text: 'x' + text, 'line 1: '),
        (lambda text: text.replace('"seed": 0', '"seed": 9'), 'line 1: no episode of this'),
        (lambda text: text.splitlines()[0] + '\n' + text, 'line 2: episode 0 again'),
    ],
)
def test_a_spoiled_record_is_refused_with_its_line(tmp_path, spoil, line):
    run(tmp_path / 'e')
    place = tmp_path / 'e' / EPISODES
    place.write_text(spoil(place.read_text()))
    with pytest.raises(ParameterError, match=line):
        open_evaluation(tmp_path / 'e', PROTOCOL)


def test_blinded_policies_have_no_name_until_the_end(tmp_path):
    both = {'before': EXPERT, 'after': {'policy': 'expert'}}
    protocol = changed(blinding=True, policies=both, episodes=2)
    folder = open_evaluation(tmp_path / 'e', protocol)
    half = folder.results()
    assert [(p.code, p.name, p.fingerprint) for p in half.policies] == [
        ('A', '', ''),
        ('B', '', ''),
    ]
    told = json.loads((tmp_path / 'e' / EVALUATION).read_text())
    assert told['codes'] == ['A', 'B']
    assert 'before' not in (tmp_path / 'e' / SEALED).read_text()
    folder.close()
    results = run(tmp_path / 'e', protocol)
    assert {p.name for p in results.policies} == {'before', 'after'}


def test_a_broken_seal_is_told(tmp_path):
    protocol = changed(blinding=True)
    open_evaluation(tmp_path / 'e', protocol).close()
    (tmp_path / 'e' / SEALED).write_text('{"policies": "e30="}')
    with pytest.raises(ParameterError, match='the seal is broken'):
        run(tmp_path / 'e', protocol)


def test_a_stopping_rule_ends_the_schedule(tmp_path):
    protocol = changed(episodes=40, stop={'rule': 'rate', 'low': 0.2, 'high': 0.9, 'alpha': 0.1})
    results = run(tmp_path / 'e', protocol)
    assert results.stopped == 'expert: at least 0.9 (2 of 2)'
    assert len(lines(tmp_path / 'e')) == 2
    assert results.is_complete


@pytest.mark.slow
def test_two_workers_give_the_numbers_of_one(whole, tmp_path):
    run(tmp_path / 'e', players=lambda folder: PlayerPool(folder, 2))
    assert (tmp_path / 'e' / 'results.json').read_bytes() == (whole / 'results.json').read_bytes()
    assert lines(tmp_path / 'e') == lines(whole)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(600)
def test_two_ray_actors_give_the_numbers_of_this_process(whole, tmp_path):
    pytest.importorskip('ray')
    from structrl_ros.training.evaluation_ray import RayPlayers

    for _ in range(3):  # Ray gives a node of its own 30 s to start, which a busy machine exceeds
        try:
            run(tmp_path / 'e', players=lambda folder: RayPlayers(folder, 'local', 2))
        except SimulationError as error:
            assert 'timed out during startup' in str(error)
    assert (tmp_path / 'e' / 'results.json').read_bytes() == (whole / 'results.json').read_bytes()


@pytest.mark.slow
def test_what_a_worker_fails_with_is_one_line(tmp_path):
    protocol = changed(tasks=['kinematic/fly'])
    with pytest.raises(SimulationError, match='kinematic/fly'):
        run(tmp_path / 'e', protocol, players=lambda folder: PlayerPool(folder, 1))


def test_an_unknown_task_is_one_line(tmp_path):
    with pytest.raises(SimulationError, match='kinematic/fly'):
        run(tmp_path / 'e', changed(tasks=['kinematic/fly']))


def test_a_sentence_that_names_nothing_here_is_no_plan(tmp_path):
    task = {'name': 'kinematic/two_in_basket', 'instruction': 'pick up the dragon'}
    results = run(tmp_path / 'e', changed(tasks=[task], episodes=1))
    (episode,) = results.episodes
    assert (episode.end, episode.cause, episode.success) == ('no_plan', 'no_plan', False)
    assert 'dragon' in episode.reason


def test_a_short_time_limit_ends_an_episode_without_success(tmp_path):
    (episode,) = run(tmp_path / 'e', changed(time_limit_s=1.0, episodes=1)).episodes
    assert (episode.end, episode.success) == ('horizon', False)
    assert episode.cause in ('never_grasped', 'not_done', 'dropped')
    assert episode.duration_s <= 1.5


def test_subtasks_may_be_the_judge(tmp_path):
    (episode,) = run(tmp_path / 'e', changed(success='subtasks', episodes=1)).episodes
    assert (episode.success, episode.judged_by) == (True, 'subtasks')


KNOWN = {'a': PolicyChoice(name='a', policy='expert')}


@pytest.mark.parametrize(
    ('word', 'choice'),
    [
        ('a', KNOWN['a']),
        ('b=flow', PolicyChoice(name='b', policy='flow')),
        ('b=ws://h:1', PolicyChoice(name='b', policy='remote', server='ws://h:1')),
        ('b=/x', PolicyChoice(name='b', policy='checkpoint', checkpoint='/x')),
    ],
)
def test_words_name_policies(word, choice):
    assert policy_of_word(word, KNOWN) == choice


@pytest.mark.parametrize('word', ['c', '=x', 'c='])
def test_other_words_are_refused(word):
    with pytest.raises(ParameterError, match='policy '):
        policy_of_word(word, KNOWN)


def test_a_missing_checkpoint_is_one_line(tmp_path):
    choice = PolicyChoice(name='b', policy='checkpoint', checkpoint=str(tmp_path / 'none'))
    protocol = dataclasses.replace(PROTOCOL, policies=(choice,))
    with pytest.raises(CheckpointError, match='policy b: '):
        open_evaluation(tmp_path / 'e', protocol)
