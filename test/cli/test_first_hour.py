"""What a newcomer sees and mistypes in the first hour."""

import io
import re
import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

from structrl_ros.cli.demo import DemoRequest
from structrl_ros.cli.demo import run_demo
from structrl_ros.cli.demo_stage import DEMO_BODIES
from structrl_ros.cli.main import app
from structrl_ros.cli.run import print_outcome
from structrl_ros.cli.supervisor import last_words
from structrl_ros.cli.timeline import Timeline
from structrl_ros.cli.up import keep_up
from structrl_ros.cli.up import parse_assignments
from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.params.graph import graph_document
from structrl_ros.params.graph import load_graph
from structrl_ros.params.sim import SIMULATED_BODIES
from structrl_ros.recording.bag_repair import bag_files
from structrl_ros.sim.registry import BODIES
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus

SECOND = 10**9
GRASP = Subtask('grasp(mug)', 'grasp mug', 'grasp', ('mug',), 0)


def printed(events, *, late=0):
    """The lines of a timeline; the first `late` events were before it began."""
    out = io.StringIO()
    timeline = Timeline(Console(file=out, width=200), is_late=bool(late))
    for index, event in enumerate(events):
        if late and index == late:
            timeline.begin()
        timeline.show(event)
    return out.getvalue()


def hold(seconds, reason):
    return Safety(seconds * SECOND, SafetyState.HOLD, reason)


def pursued(seconds, current):
    return SubtaskStatus(seconds * SECOND, 1, 1, 1, current, (), (), ())


def test_simulated_bodies_are_one_list_everywhere():
    assert set(SIMULATED_BODIES) == set(BODIES)
    chosen = {
        graph: next(a for a in graph_document(graph).arguments if a.name == 'body').choices
        for graph in ('deploy', 'sim', 'evaluate')
    }
    assert chosen['sim'] == chosen['evaluate'] == SIMULATED_BODIES
    assert chosen['deploy'] == (*SIMULATED_BODIES, 'franka', 'replay')
    assert (*SIMULATED_BODIES, 'franka-sim', 'franka-fake') == DEMO_BODIES


def test_a_demo_on_an_unknown_body_names_those_of_the_demo_and_leaves_no_folder(tmp_path):
    folder = tmp_path / 'run'
    with pytest.raises(ParameterError, match='franka-sim, franka-fake; an arm: structrl up'):
        run_demo(DemoRequest({'body': 'x'}, '', 0.0, folder), Console(file=io.StringIO()))
    assert not folder.exists()


def test_a_policy_checkpoint_that_is_not_named_is_asked_for(tmp_path):
    arguments = {'body': 'kinematic', 'policy': 'checkpoint'}
    with pytest.raises(ParameterError, match='checkpoint:=runs/'):
        run_demo(DemoRequest(arguments, '', 0.0, tmp_path / 'run'), Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ('word', 'meant'),
    [('body=twin', 'body:=twin'), ('--run-dir=x', 'run_dir:=x'), ('twin', "'twin' is not")],
)
def test_an_argument_of_another_form_says_the_right_one_where_it_can(word, meant):
    with pytest.raises(ParameterError, match=meant):
        parse_assignments([word])


def test_a_misspelt_argument_of_a_long_graph_names_the_near_one_and_where_all_are():
    with pytest.raises(ParameterError) as told:
        load_graph('deploy', {'boddy': 'twin'})
    line = str(told.value)
    assert "did you mean 'body'? all: structrl up deploy --show-args" in line
    assert len(line) < 150


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ({'body': 'franka'}, 'such as box_low:=0.3,-0.4,0.02'),
        ({'body': 'replay'}, 'such as bag:=runs/TIME/bag'),
        ({'planner': 'openai'}, 'such as openai_base_url:=http://'),
        ({'planner': 'local'}, 'such as model:=FOLDER'),
    ],
)
def test_an_argument_that_a_choice_needs_is_asked_for_with_an_example(arguments, words):
    with pytest.raises(ParameterError) as told:
        load_graph('deploy', arguments)
    assert words in str(told.value)


def test_a_folder_without_a_bag_says_where_one_is(tmp_path):
    (tmp_path / 'bag').mkdir()
    with pytest.raises(BagError, match=f'its bag is {tmp_path}/bag'):
        bag_files(tmp_path)
    with pytest.raises(BagError, match='a bag is such as runs/TIME/bag'):
        bag_files(tmp_path / 'bag')


def test_a_replay_takes_no_word_in_silence(tmp_path):
    for words in (['nonsense', '--check'], ['rate:=2', '--check'], ['--check', '--monitor', 'x']):
        shown = CliRunner().invoke(app, ['replay', str(tmp_path), *words])
        assert isinstance(shown.exception, ParameterError)


@pytest.mark.ros
def test_a_namespace_that_is_none_is_one_line():
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    from structrl_ros.nodes.task_client import TaskClient

    with pytest.raises(ParameterError, match="namespace 'a b' is not allowed: ") as told:
        TaskClient(lambda event: None, namespace='a b')
    assert '\n' not in str(told.value)


def test_the_arguments_of_a_graph_are_listed_with_default_and_choices():
    shown = CliRunner().invoke(app, ['up', 'deploy', '--show-args'])
    assert shown.exit_code == 0
    assert 'body:=libero (libero, tabletop, twin, kinematic, franka, replay)' in shown.output
    assert "task:=''" in shown.output


def test_a_late_timeline_is_silent_on_the_sentence_before_and_counts_from_its_beginning():
    before = Plan(3 * SECOND, 1, 'old', (GRASP,))
    after = Plan(20 * SECOND, 1, 'new', (GRASP,))
    lines = printed([before, pursued(9, ''), after], late=2)
    assert lines.count('plan 1') == 1
    assert lines.strip().startswith('0.00 s')


def test_a_plan_of_before_that_comes_late_is_silent_too():
    old, new = Plan(3 * SECOND, 1, 'old', (GRASP,)), Plan(9 * SECOND, 1, 'new', (GRASP,))
    assert printed([pursued(9, ''), old, new], late=1).count('plan 1') == 1


def test_times_do_not_go_back_until_an_episode_begins():
    start = Episode(SECOND, 2, False, 'b', 't', 'go', 0, 0)
    plan = Plan(5 * SECOND, 1, 'go', (GRASP,))
    lines = printed([Plan(SECOND, 1, 'x', ()), plan, pursued(2, GRASP.id), start]).splitlines()
    assert [line.split(' s ')[0].strip() for line in lines] == ['0.00', '4.00', '4.00', '0.00']


def test_a_body_without_work_holds_in_silence_and_one_with_work_does_not():
    nothing = hold(0, 'no chunk yet: holding position')
    ended = hold(1, 'episode 1 has ended (success): call reset_episode (structrl reset)')
    assert printed([nothing, ended]) == ''
    working = printed([pursued(0, GRASP.id), hold(1, 'no chunk for 3 s')])
    assert 'safety  hold no chunk for 3 s' in working
    assert 'unstable' in printed([hold(0, 'the world is unstable: call reset_episode')])


def test_what_is_missing_points_to_the_doctor_and_what_is_not_does_not():
    missing = last_words('sim_node', "ModuleNotFoundError: No module named 'mujoco'")
    assert missing.endswith('structrl doctor looks for what is missing here')
    assert 'doctor' not in last_words('sim_node', "unknown task 'x'; known: y")


def test_an_outcome_without_a_chunk_counts_none():
    from structrl_ros.nodes.task_client import Outcome

    out = io.StringIO()
    console = Console(file=out, width=200)
    print_outcome(Outcome(False, 'reset first [x]', 0.0, 0), Timeline(console), console)
    assert out.getvalue() == 'no success: reset first [x]\n'


@pytest.mark.parametrize(
    ('body', 'task', 'words'),
    [
        ('libero', 'long/77', "unknown LIBERO task 'long/77'; allowed: SUITE/NUMBER"),
        ('tabletop', 'pack_lunhc', "unknown task 'pack_lunhc'; known: pack_lunch, "),
        ('kinematic', 'long/0', "unknown task 'long/0'; known: kinematic/soup_in_basket"),
    ],
)
def test_a_misspelt_task_is_refused_before_anything_starts(tmp_path, body, task, words):
    where = tmp_path / 'run'
    words = f'sim_node: {words}'
    with pytest.raises(ParameterError, match=f'^{re.escape(words)}'):
        keep_up('deploy', [f'body:={body}', f'task:={task}'], where, Console())
    request = DemoRequest({'body': body, 'task': task}, '', 0.0, where)
    with pytest.raises(ParameterError, match=f'^{re.escape(words)}'):
        run_demo(request, Console())
    assert not where.exists()


def test_names_of_tasks_are_looked_up_without_a_simulator():
    look = (
        'import sys; from structrl_ros.sim.registry import BODIES, check_task, default_task\n'
        'for body in BODIES: check_task(body, default_task(body))\n'
        'print({"mujoco", "robosuite", "libero", "torch"} & set(sys.modules))'
    )
    done = subprocess.run([sys.executable, '-c', look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'set()'
