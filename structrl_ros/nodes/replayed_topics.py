"""Which topics of a bag replayer_node plays, and as which topics of the contract."""

from __future__ import annotations

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_inspection import wrong_hashes
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.wire import topics
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.qos import type_name

_REWARDS = (topics.SUBTASK, topics.REWARD, topics.PROGRESS)
#: What was computed from the body's topics, and is computed again by whoever listens.
COMPUTED = (*_REWARDS, topics.ACTION_CHUNK, topics.HEARTBEAT)
#: Topics that are not played by each choice of the parameter `play`.
_LEFT_OUT = {
    'body': {topics.PLAN, topics.VERDICT, *COMPUTED},
    'body+plan': {topics.VERDICT, *COMPUTED},
    'body+plan+verdict': set(COMPUTED),
    'all': set(),
}


def played_topics(reader: BagReader, play: str) -> dict[str, str]:
    """Return name in the bag -> topic of the contract, of what is to be played.

    Raises:
        BagError: If a topic was recorded with another type than the contract's, or another
            version of it.
    """
    found = {}
    hashes = wrong_hashes(reader)
    for name, summary in reader.topics.items():
        topic = contract_topic(name)
        if topic is None or topic in _LEFT_OUT[play] or topic == topics.DIAGNOSTICS:
            continue
        if summary.msgtype != type_name(topic):
            raise BagError(
                f'{name} in {reader.path} is {summary.msgtype}; allowed: {type_name(topic)}'
            )
        if summary.msgtype in hashes:
            raise BagError(
                f'{name} in {reader.path} is another version of {summary.msgtype}: '
                f'hash {hashes[summary.msgtype][0]}; allowed: {hashes[summary.msgtype][1]}'
            )
        found[name] = topic
    return found


def contract_topic(name: str) -> str | None:
    """Return the topic of the contract that a recorded name stands for, None if for none."""
    if name in TOPICS:
        return name
    for topic in sorted(TOPICS, key=len, reverse=True):
        if name.endswith(f'/{topic}'):
            return topic
    return None
