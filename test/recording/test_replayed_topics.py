"""Which recorded names stand for topics of the contract, and which of them are played."""

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

from structrl_ros.nodes.replayed_topics import contract_topic
from structrl_ros.nodes.replayed_topics import played_topics
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.wire import topics

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    ('name', 'topic'),
    [
        ('/clock', topics.CLOCK),
        ('/left/arm/plan', topics.PLAN),
        ('/a/observation/head/image', topics.image_topic('head')),
        ('/floorplan', None),
        ('/plan/more', None),
    ],
)
def test_name_below_any_namespace_stands_for_its_topic(name, topic):
    assert contract_topic(name) == topic


def test_each_choice_plays_more_of_what_was_computed(tmp_path, synthetic_run):
    synthetic_run(chunks=2).write(tmp_path)
    reader = BagReader(tmp_path / 'bag')
    choices = ('body', 'body+plan', 'body+plan+verdict', 'all')
    body, plan, verdict, everything = (set(played_topics(reader, c).values()) for c in choices)
    assert topics.CHUNK_DONE in body
    assert plan - body == {topics.PLAN}
    assert verdict - plan == {topics.VERDICT}
    assert {topics.SUBTASK, topics.REWARD} <= everything - verdict
