"""The density ladder: every level keeps the milestones of the one before (Appendix C.1)."""

import itertools

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.density import LEVELS
from structrl_ros.subtasks.density import earlier
from structrl_ros.subtasks.density import earlier_stages
from structrl_ros.subtasks.density import ladder_stages

BOX, REGION = 'lunch_box_1', 'lunch_box_1_contain_region'
PACK = (
    (f'open({BOX})',),
    (f'in(chicken_1, {REGION})', f'in(apple_1, {REGION})'),
    (f'close({BOX})',),
)
PRESS = (('press(button_1)',), ('grasp(lemon_1)',), ('in(lemon_1, basket_1)',))


def flat(stages):
    return [name for stage in stages for name in stage]


def test_pack_lunch_has_the_numbers_of_subtasks_that_the_docs_name():
    sizes = [len(flat(ladder_stages(PACK, level))) for level in LEVELS]
    assert dict(zip(LEVELS, sizes, strict=True)) == {
        '0': 0,
        '1': 1,
        '2.5': 4,
        '5': 6,
        '10': 10,
        '14': 14,
        '29': 29,
        '52': 52,
    }


@pytest.mark.parametrize('task', [PACK, PRESS], ids=['pack', 'press'])
def test_each_level_holds_the_one_before_stage_by_stage(task):
    levels = [ladder_stages(task, level) for level in LEVELS[2:]]
    for coarse, fine in itertools.pairwise(levels):
        assert len(coarse) == len(fine)
        for before, after in zip(coarse, fine, strict=True):
            assert set(before) <= set(after)
            kept = [name for name in after if name in before]
            assert kept == list(before)


def test_milestone_is_the_last_of_its_own_checkpoints():
    for level in LEVELS[2:]:
        names = ladder_stages(PACK, level)[1]
        assert names[-1] == f'in(apple_1, {REGION})'


def test_grasps_of_the_task_come_back_at_level_five():
    assert flat(ladder_stages(PRESS, '2.5')) == ['press(button_1)', 'in(lemon_1, basket_1)']
    assert 'grasp(lemon_1)' in flat(ladder_stages(PRESS, '5'))


def test_earlier_variant_keeps_number_and_dependencies():
    whole = ladder_stages(PACK, '5')
    early = earlier_stages(whole)
    assert [len(s) for s in early] == [len(s) for s in whole]
    assert not set(flat(early)) & set(flat(whole))
    assert len(set(flat(early))) == len(flat(early))
    assert earlier('grasp(apple_1)') == 'near(apple_1, 0.06)'
    assert earlier('activity(stir)') == 'activity(stir)'


def test_unknown_level_lists_those_that_are_known():
    with pytest.raises(ParameterError, match=r"density '3'; allowed: 0, 1, 2\.5, 5, 10"):
        ladder_stages(PACK, '3')
