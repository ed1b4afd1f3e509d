"""Claims of a planner's training that need no model: questions, rewards, tasks, mistakes."""

import pytest
from leap_episodes import three_scenes
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.plan.blocks import format_reward
from structrl_ros.training.leap_rows import RowSettings
from structrl_ros.training.leap_rows import make_rows
from structrl_ros.training.leap_set import write_split
from structrl_ros.training.planner_questions import question
from structrl_ros.training.planner_questions import true_answer
from structrl_ros.training.planner_reward import VerifiableReward
from structrl_ros.training.planner_reward import answer_reward
from structrl_ros.training.planner_settings import STAGES
from structrl_ros.training.planner_settings import PlannerGrpoSettings
from structrl_ros.training.planner_tasks import split_tasks
from structrl_ros.training.settings_document import make_settings

ROWS = list(make_rows(three_scenes(), 'train', RowSettings(plans=20)))
PLANS = [row for row in ROWS if row.kind == 'plan']
COMPLETIONS = [row for row in ROWS if row.kind == 'completion']
LONG = max(PLANS, key=lambda row: len(row.plan))


@pytest.mark.parametrize('prompt', ['plan_blocks_v1', 'plan_brief_v1', 'set'])
def test_the_true_answer_of_every_row_earns_the_whole_reward(prompt):
    rewards = [answer_reward(row, true_answer(row, prompt), prompt) for row in ROWS]
    assert rewards == pytest.approx([1.0] * len(ROWS))


def test_a_plan_loses_what_the_paper_says_for_a_missing_step_and_for_the_form():
    count = len(LONG.plan)
    short = '\n'.join(LONG.plan[:-1])
    whole = f'<think>so</think><answer>{short}</answer>'
    expected = 0.1 + 0.9 * ((count - 1) / count - 0.1)
    assert answer_reward(LONG, whole, 'set') == pytest.approx(expected)
    assert answer_reward(LONG, short, 'set') == pytest.approx(expected - 0.1)


def test_what_cannot_be_read_is_a_plan_of_no_steps():
    assert answer_reward(LONG, 'I cannot', 'set') == pytest.approx(-0.09 * len(LONG.plan))


def test_completion_is_exactly_the_true_word_or_nothing():
    row = next(row for row in COMPLETIONS if row.done)
    assert answer_reward(row, 'True', 'plan_blocks_v1') == pytest.approx(1.0)
    assert answer_reward(row, 'False', 'plan_blocks_v1') == pytest.approx(0.1)
    assert answer_reward(row, 'true enough', 'plan_blocks_v1') == 0.0
    assert answer_reward(row, '<think>a</think><answer>True</answer>', 'set') == pytest.approx(1.0)
    assert answer_reward(row, '<answer>True</answer>', 'set') == pytest.approx(0.9)


def test_the_trainer_gets_a_reward_for_texts_and_for_conversations():
    reward = VerifiableReward([LONG], 'set', 0.1, 0.9)
    text = true_answer(LONG, 'set')
    said = [text, [{'role': 'assistant', 'content': text}]]
    assert reward(completions=said, row=[0, 0], prompts=None) == pytest.approx([1.0, 1.0])


def test_a_question_has_a_place_for_each_picture_and_names_the_scene():
    for row in (LONG, COMPLETIONS[0]):
        for prompt in ('plan_brief_v1', 'set'):
            parts = question(row, prompt)[-1]['content']
            assert sum(part['type'] == 'image' for part in parts) == len(row.images)
    words = [p['text'] for p in question(LONG, 'plan_brief_v1')[-1]['content'] if 'text' in p]
    assert LONG.instruction in words[0]
    assert all(name in words[0] for name in LONG.objects)


def test_the_answer_that_imitation_teaches_has_the_form_of_the_paper():
    assert format_reward(true_answer(LONG, 'plan_brief_v1')) == 1.0


def test_no_plan_is_in_two_of_both_halves_and_the_held_out_tasks():
    def plans(part):
        settings = PlannerGrpoSettings(base='x', part=part, held_out=0.3, split_seed=4)
        split = split_tasks(ROWS, settings)
        return [
            {(row.scene, row.plan) for row in rows if row.kind == 'plan'}
            for rows in (split.training, split.held_out)
        ]

    (first, held), (second, same), (whole, _) = plans('first'), plans('second'), plans('all')
    assert first
    assert second
    assert held
    assert held == same
    assert not first & second
    assert not (first | second) & held
    assert first | second == whole


def test_the_defaults_are_those_of_the_paper():
    chosen = PlannerGrpoSettings(base='x')
    assert chosen.completions == 8
    assert chosen.kl == 0.04
    assert chosen.learning_rate == 1e-5
    assert (chosen.rows, chosen.accumulation) == (8, 12)
    assert (chosen.epochs, chosen.max_tokens) == (3.0, 2048)


@pytest.mark.parametrize(
    ('stage', 'words', 'told'),
    [
        ('grpo', {'rows': '3'}, 'must be a multiple of completions 8, got 36'),
        ('grpo', {'kl': '-1'}, 'kl: input should be greater than or equal to 0'),
        ('grpo', {'kinds': 'choice'}, "got 'choice'; allowed: plan, completion or both"),
        ('grpo', {'weights': 'all'}, "unknown setting 'weights'; allowed: base"),
        ('sft', {'weights': 'all', 'adapter': 'x'}, 'go with no adapter'),
        ('sft', {'kl': '0.1'}, "unknown setting 'kl'"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(stage, words, told):
    with pytest.raises(ParameterError, match=told) as caught:
        make_settings(STAGES[stage], {}, words)
    assert '\n' not in str(caught.value)


@pytest.mark.torch
@pytest.mark.parametrize(
    ('words', 'told'),
    [
        ([], '0 sets; allowed: 1'),
        (['SET'], 'no base; give --base'),
        (['SET', '--base', 'nowhere', 'prompt:=plan_v1'], "prompt 'plan_v1'; allowed: plan_bl"),
        (['SET', '--base', 'nowhere', '--stage', 'ppo'], "--stage 'ppo'; allowed: sft, grpo"),
        (['nowhere', '--base', 'nowhere'], "has no split 'train'"),
        (['--resume'], '--resume needs --out'),
        (['SET', '--resume', '--out', 'SET'], 'a run goes on as it began'),
    ],
)
def test_a_mistake_on_the_command_line_leaves_no_run(tmp_path, words, told):
    leap, out = tmp_path / 'leap', tmp_path / 'run'
    write_split(leap, 'train', PLANS[:2])
    typed = [str(leap) if word == 'SET' else word for word in words]
    if '--resume' not in words:
        typed += ['--out', str(out)]
    result = CliRunner().invoke(app, ['train', 'planner', *typed])
    assert told in str(result.exception)
    assert not out.exists()
