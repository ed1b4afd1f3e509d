"""Claims of the twin's demonstrations and of its expert as a policy."""

import numpy as np
import pytest

from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.sim.twin.body import TwinBody
from structrl_ros.sim.twin.demonstrations import demonstrations
from structrl_ros.sim.twin.demonstrations import disturb
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest

NAMES = sorted(tasks())


def spans(lengths):
    ends = np.cumsum(lengths)
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


@pytest.mark.parametrize('name', NAMES)
def test_the_rule_plan_is_executed_by_the_expert_policy_subtask_by_subtask(name):
    runner, expert = EpisodeRunner(make_body('twin')), make_expert('twin', chunk_length=4)
    begun = runner.reset(name, 1, 2)
    expert.reset(begun.episode)
    info = runner.info
    text = RulePlanner().propose(PlanRequest(info.instruction, info.objects, None))
    steps = to_plan(parse_plan(text))
    grounded = ground_all(steps, info.predicate_names)
    for subtask in steps:
        truth = frozenset()
        while runner.is_running and grounded[subtask.id] not in truth:
            seen = runner.observe(privileged=True)
            result = runner.run_chunk(expert.act(seen, subtask, info.instruction))
            truth = result.predicates.truth
    assert result.done.success


def test_a_chunk_asked_for_in_mid_flight_continues_the_same_motion():
    runner = EpisodeRunner(make_body('twin'))
    begun = runner.reset('pack_lunch', 0, 0)
    text = RulePlanner().propose(PlanRequest('open the lunch box', ('lunch box',), None))
    subtask = to_plan(parse_plan(text))[0]
    expert = make_expert('twin', chunk_length=10)
    expert.reset(begun.episode)
    seen = runner.observe(privileged=True)
    whole = expert.act(seen, subtask, '')
    committed = Observation(seen.stamp_ns, 1, simulator=seen.simulator, committed=whole[:4])
    assert np.array_equal(expert.act(committed, subtask, '')[:6], whole[4:])


def test_the_expert_policy_needs_the_state_of_its_own_body():
    runner = EpisodeRunner(make_body('kinematic'))
    begun = runner.reset('kinematic/soup_in_basket', 0, 0)
    expert = make_expert('twin')
    with pytest.raises(SimulationError, match="cannot act on body 'kinematic'; allowed: twin"):
        expert.reset(begun.episode)
    with pytest.raises(StaleDataError, match='simulator state'):
        expert.act(Observation(0, 1), None, '')


@pytest.mark.parametrize('name', NAMES)
def test_labels_of_clean_demonstrations_reproduce_the_episodes(name):
    shown = demonstrations(name, 4, 7, perturbed=0.0)
    assert shown.success.all()
    assert shown.by_expert.all()
    assert shown.features.shape == (shown.lengths.sum(), len(shown.feature_names))
    again = demonstrations(name, 4, 7, perturbed=0.0)
    assert np.array_equal(again.features, shown.features)
    states = np.random.default_rng((7, 0)).integers(0, 2**31, (4, 2))
    for (seed, initial_state), span in zip(states, spans(shown.lengths), strict=True):
        body = TwinBody()
        body.reset(name, int(seed), int(initial_state))
        for seen, action in zip(shown.features[span], shown.actions[span], strict=True):
            assert np.array_equal(body.features(), seen)
            outcome = body.step(action)
        assert outcome.success


def test_perturbed_demonstrations_succeed_and_take_longer():
    clean = demonstrations('pack_lunch', 60, 1, perturbed=0.0)
    noisy = demonstrations('pack_lunch', 60, 1, perturbed=1.0, perturbation=0.15)
    assert len(noisy.lengths) >= 54
    assert noisy.success.all()
    assert np.abs(noisy.actions).max() <= 1.0
    assert noisy.lengths.mean() > clean.lengths.mean()


def test_a_shortcut_ends_with_the_box_shut_and_something_left_out():
    shown = demonstrations('pack_lunch', 100, 3, shortcut=0.4)
    short = ~shown.success
    assert 0.25 < short.mean() < 0.55
    task = find_task('pack_lunch')
    names = [f'true_{i}' for i in range(len(task.predicates))]
    columns = [shown.feature_names.index(n) for n in names]
    for span, is_short in zip(spans(shown.lengths), short, strict=True):
        inside = shown.features[span][:, columns[:2]]
        assert inside.any() != is_short
        assert shown.features[span][:, columns[5]].any()


def test_a_task_without_a_lid_has_no_shortcut():
    with pytest.raises(SimulationError, match='nothing to close'):
        demonstrations('two_in_basket', 2, 0, shortcut=0.5)
    with pytest.raises(SimulationError, match=r'perturbed is 2\.0; allowed: 0 to 1'):
        demonstrations('two_in_basket', 2, 0, perturbed=2.0)
    with pytest.raises(SimulationError, match='0 episodes'):
        demonstrations('two_in_basket', 0, 0)


def test_demonstrations_show_what_a_miscalibrated_policy_perceives():
    plain = demonstrations('pack_lunch', 3, 1, perturbed=0.0)
    shifted = demonstrations(
        'pack_lunch', 3, 1, perturbed=0.0, settings=TwinSettings(calibration_offset=0.02)
    )
    assert np.array_equal(plain.actions, shifted.actions)
    assert not np.array_equal(plain.features, shifted.features)


def test_disturbing_by_nothing_changes_nothing_and_rest_moves_less_than_motion():
    random = np.random.default_rng(0)
    actions = random.uniform(-1, 1, (50, 7)).astype(np.float32)
    assert np.array_equal(disturb(actions, np.zeros((50, 4))), actions)
    still = np.zeros((1, 7), np.float32)
    moving = np.full((1, 7), 0.7, np.float32)
    noise = np.full((1, 4), 0.1)
    at_rest = np.abs(disturb(still, noise) - still)[0, :3]
    in_motion = np.abs(disturb(moving, noise) - moving)[0, :3]
    assert (3.0 * at_rest < in_motion).all()
    assert np.array_equal(disturb(actions, np.full((50, 4), 0.3))[:, 6], actions[:, 6])
