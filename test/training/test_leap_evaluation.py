"""Claims of `structrl evaluate planner`: scores by hand, malformed answers, lost servers."""

import json

import pytest
from chat_server import ChatServer
from chat_server import chat
from leap_episodes import LUNCH
from leap_episodes import three_scenes
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import AnswerError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.training.leap_evaluation import AskedBackend
from structrl_ros.training.leap_evaluation import ask_all
from structrl_ros.training.leap_evaluation import pick_examples
from structrl_ros.training.leap_evaluation import with_examples
from structrl_ros.training.leap_results import result_document
from structrl_ros.training.leap_rows import RowSettings
from structrl_ros.training.leap_rows import make_rows
from structrl_ros.training.leap_scoring import read_choice
from structrl_ros.training.leap_scoring import score_plan
from structrl_ros.training.leap_set import write_split
from structrl_ros.types import Judgement

EPISODES = three_scenes()
TEST = list(make_rows(EPISODES[:1], 'test', RowSettings(plans=5)))
TRAIN = list(make_rows(EPISODES[2:], 'train', RowSettings(plans=2)))
WHOLE = next(row for row in TEST if row.kind == 'plan' and row.style == 'own')


class Scripted:
    """Answers everything with what it was made with, and checks what it sees."""

    name = 'scripted'

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def _say(self, what):
        self.asked.append(what)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def propose(self, request):
        assert request.observation.images['head'].shape == (8, 8, 3)
        return self._say(request)

    def choose(self, instruction, objects, options, observation):
        assert len(options) == 4 and observation is not None
        return self._say(instruction)

    def verify(self, subtask, start, now):
        assert (start.images['head'] != now.images['head']).any()
        return self._say(subtask)


def ask(kind, answer, **parts):
    backend = AskedBackend(name='scripted', planner=Scripted(answer), **parts)
    return ask_all(backend, [row for row in TEST if row.kind == kind])


def test_plan_scores_by_hand():
    right = '<think>x</think><answer>' + '\n'.join(LUNCH) + '</answer>'
    answer = score_plan(WHOLE, right)
    assert (answer.matching, answer.content) == (1.0, 1.0)
    assert answer.is_exact and answer.is_readable and answer.has_template
    turned = score_plan(WHOLE, json.dumps([*LUNCH[3:5], *LUNCH[:3], LUNCH[5]]))
    assert turned.matching == pytest.approx(1.0)  # the matching ignores order
    assert not turned.is_exact and turned.is_readable and not turned.has_template
    short = score_plan(WHOLE, json.dumps(LUNCH[:3]))
    assert short.matching == pytest.approx(0.5)
    assert short.content == pytest.approx(0.5 - 0.3)


@pytest.mark.parametrize('text', ['', 'dance', 'grasp elephant', '<answer>', '{"stages": 3}'])
def test_malformed_plans_are_format_failures(text):
    answer = score_plan(WHOLE, text)
    assert (answer.matching, answer.content) == (0.0, pytest.approx(-0.6))
    assert not answer.is_readable and answer.error


@pytest.mark.parametrize(
    ('text', 'index'),
    [
        ('{"answer": "B"}', 1),
        ('c', 2),
        ('(D)', 3),
        ('<think>so</think><answer>A.</answer>', 0),
        ('E', None),
        ('A or B', None),
        ('{"answer": 1}', None),
        ('', None),
    ],
)
def test_letters_are_read_and_nothing_else(text, index):
    assert read_choice(text) == index


def test_choices_and_completion_are_scored_against_the_truth():
    found = ask('choice', '{"answer": "A"}', chooser=Scripted('{"answer": "A"}'))
    choices = [row for row in TEST if row.kind == 'choice']
    assert [c.picked == c.correct for c in found.choices] == [r.correct == 0 for r in choices]
    found = ask('completion', '', monitor=Scripted(Judgement(True, 0.9)))
    document = result_document(found, 0)['completion']
    assert document['accuracy']['value'] == document['precision']['value'] == 0.5
    assert document['recall']['value'] == 1.0
    assert document['accuracy']['n'] == 12


def test_answers_that_nobody_can_read_are_counted_and_do_not_stop_the_evaluation():
    found = ask('completion', '', monitor=Scripted(AnswerError('the monitor answered maybe')))
    document = result_document(found, 0)['completion']
    assert document['unreadable'] == document['asked'] == 12
    assert document['accuracy']['value'] == 0.0
    found = ask('choice', '', chooser=Scripted('all of them'))
    assert result_document(found, 0)['choice']['unreadable'] == len(found.choices) > 0


def test_a_server_that_is_down_ends_the_evaluation_with_one_line():
    down = PlannerUnavailableError('model x at http://127.0.0.1:1/v1: refused')
    with pytest.raises(PlannerUnavailableError, match='no answer 3 times in a row: model x at'):
        ask('plan', down)


def test_rules_choose_nothing_in_words_and_see_no_completion():
    backend = AskedBackend(name='rules', planner=RulePlanner(), sees=False)
    document = result_document(ask_all(backend, TEST), 0)
    assert document['choice']['unanswered'] == document['choice']['asked'] > 0
    assert document['completion']['unanswered'] == document['completion']['asked'] == 12
    assert document['plan_by_style']['own']['exact']['value'] == 1.0
    assert (
        document['plan_by_style'].get('wish', {'readable': {'count': 0}})['readable']['count'] == 0
    )
    by_plan = document['choice_by_own_plan']
    assert by_plan['accuracy']['value'] == 1.0 and by_plan['asked'] == document['choice']['asked']


def test_examples_are_plans_of_the_training_split_in_the_question():
    examples = pick_examples(TRAIN, 2, 0)
    assert len({row.episode for row in examples}) == 2
    text = with_examples('open the box', examples)
    assert all(row.instruction in text and row.plan[0] in text for row in examples)
    assert text.endswith('Instruction: open the box')
    assert with_examples('open the box', []) == 'open the box'
    with pytest.raises(ParameterError, match='training split has plans of 4'):
        pick_examples(TRAIN, 9, 0)
    planner = Scripted('grasp apple')
    with pytest.raises(ParameterError, match='allowed: plans of the training split'):
        ask_all(AskedBackend(name='x', planner=planner), TEST, TEST[:1])


def evaluate(*words):
    return CliRunner().invoke(app, ['evaluate', 'planner', *map(str, words)])


@pytest.fixture
def folder(tmp_path):
    write_split(tmp_path, 'test', TEST)
    write_split(tmp_path, 'train', TRAIN)
    return tmp_path


def test_command_writes_what_it_prints(folder):
    result = evaluate(folder, '--json', folder / 'rules.json', '--limit', 4)
    assert result.exit_code == 0, result.output
    assert 'rules on' in result.output and 'without pictures' in result.output
    document = json.loads((folder / 'rules.json').read_text())
    assert document['backend'] == 'rules' and document['pictures'] is False
    assert document['results'][0]['plan']['asked'] == 4


def test_models_on_servers_are_asked_everything_with_and_without_examples_and_pictures(folder):
    answer = {'reasoning': 'so', 'stages': [[phrase] for phrase in LUNCH], 'answer': 'A'}
    words = ['planner:=openai', 'openai_model:=m', 'openai_key_variable:=', '--limit', 3]
    with ChatServer(chat(json.dumps({**answer, 'done': True, 'confidence': 1.0}))) as server:
        words.append(f'openai_base_url:={server.url}')
        result = evaluate(
            folder, *words, '--examples', 0, '--examples', 2, '--json', folder / 'a.json'
        )
        assert result.exit_code == 0, result.output
        asked = len(server.requests)
        assert (
            evaluate(folder, *words, '--no-pictures', '--json', folder / 'b.json').exit_code == 0
        )
        texts = [json.dumps(body['messages']) for _, _, body in server.requests]
    first, second = json.loads((folder / 'a.json').read_text())['results']
    assert asked == 12 and all('image_url' in text for text in texts[:asked])
    assert [text.count('Here are examples') for text in texts[:9]] == [0] * 9
    assert sum('Here are examples' in text for text in texts[9:asked]) == 3
    assert len(second['example_ids']) == 2 and first['example_ids'] == []
    assert second['choice'] is None and second['completion'] is None
    assert first['plan']['think_answer']['value'] == first['plan']['readable']['value'] == 1.0
    assert first['completion']['recall']['value'] == 1.0
    assert first['choice']['unanswered'] == first['choice']['unreadable'] == 0
    blind = json.loads((folder / 'b.json').read_text())
    assert blind['pictures'] is False and not any('image_url' in text for text in texts[asked:])
    assert blind['results'][0]['completion']['unanswered'] == 3


@pytest.mark.parametrize(
    ('words', 'told'),
    [
        (['planner:=oracle'], "parameter 'planner' is 'oracle'; allowed: rules, openai, local"),
        (['planner:=openai'], "parameter 'openai_base_url' must be given"),
        (['--examples', '2'], '--examples 2: rules reads no examples; allowed: 0'),
        (
            ['planner:=openai', '--examples', '2', '--kind', 'choice'],
            '--examples go with plans',
        ),
        (['--kind', 'poem'], "--kind 'poem'; allowed: plan, completion, choice"),
        (['color:=red'], "unknown parameter 'color'"),
    ],
)
def test_mistakes_on_the_command_line_say_what_is_allowed(folder, words, told):
    result = evaluate(folder, *words)
    assert result.exit_code != 0
    with pytest.raises(ParameterError, match=told):
        raise result.exception
