"""The protocol that is shipped as an example."""

from pathlib import Path

from structrl_ros.evaluation.protocol import schedule
from structrl_ros.sim.registry import check_task
from structrl_ros.training.protocol_document import read_protocol

ROOT = Path(__file__).parents[2]
EXAMPLE = 'docs/examples/protocol.yaml'


def test_the_example_plays_what_is_shipped_and_says_so_in_the_readme():
    read = read_protocol(ROOT / EXAMPLE)
    assert {p.policy for p in read.policies} == {'expert', 'flow'}
    for task in read.tasks:
        check_task(read.body, task.name)
    trials = schedule(read, [p.name for p in read.policies])
    assert len(trials) == read.episodes * len(read.policies)
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    assert f'structrl evaluate policy {EXAMPLE} --policy flow --out' in readme
