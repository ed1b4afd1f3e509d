"""The backend `vlm` on a server: what is asked, what is read, and what is wrong in one line."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from chat_server import ChatServer
from chat_server import chat

from structrl_ros.errors import AnswerError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.events.answer import write_answer
from structrl_ros.models.events.vlm import ServerEvents
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout

REVIEW = EventReview(
    outcome='failure',
    error_type='dropped',
    interval=(2, 3),
    recovery='not_observed',
    evidence=(1,),
    confidence=0.5,
    reason='it fell',
)
ROLLOUT = FailedRollout(
    task='apple_in_bowl',
    instruction='pick up the apple',
    chunks=4,
    views={'head': np.zeros((5, 8, 8, 3), dtype=np.uint8)},
    frame_chunks=(0, 1, 2, 3, 4),
    proprioception=np.full((5, 5), 0.25),
)


def model(server: ChatServer, frames: int = 3) -> ServerEvents:
    settings = ChatSettings(base_url=server.url, model='m', retries=0, timeout_s=1.0)
    return ServerEvents(settings, frames=frames)


def test_a_server_is_shown_frames_with_their_chunks_and_its_review_is_read() -> None:
    with ChatServer(chat(write_answer(REVIEW))) as server:
        assert model(server).review(ROLLOUT) == REVIEW
        body = server.requests[0][2]
    parts = body['messages'][1]['content']
    assert sum(part['type'] == 'image_url' for part in parts) == 3
    text = ' '.join(part.get('text', '') for part in parts)
    assert 'Frame 2, after chunk 2' in text
    assert 'at the start; tool at 0.25' in text
    assert body['response_format']['json_schema']['schema']['required'][0] == 'reason'


@pytest.mark.parametrize(
    ('said', 'error'),
    [
        ('I think it fell.', AnswerError),
        (write_answer(REVIEW).replace('[2, 3]', '[2, 9]'), AnswerError),
        (write_answer(REVIEW).replace('"0.50"', 'NaN'), AnswerError),
    ],
)
def test_an_answer_that_nobody_can_read_is_one_line(said: str, error: type[Exception]) -> None:
    with ChatServer(chat(said)) as server, pytest.raises(error) as caught:
        model(server).review(ROLLOUT)
    assert '\n' not in str(caught.value)


def test_a_server_that_is_gone_or_silent_is_unavailable() -> None:
    with ChatServer('hang') as server, pytest.raises(PlannerUnavailableError, match='no answer'):
        model(server).review(ROLLOUT)
    with pytest.raises(PlannerUnavailableError, match='ConnectError'):
        model(server).review(ROLLOUT)


def test_a_rollout_without_pictures_or_with_another_camera_is_refused_unasked() -> None:
    with ChatServer(chat('')) as server:
        bare = dataclasses.replace(ROLLOUT, views={}, frame_chunks=())
        with pytest.raises(ParameterError, match='without pictures'):
            model(server).review(bare)
        other = dataclasses.replace(ROLLOUT, views={'left_wrist': ROLLOUT.views['head']})
        with pytest.raises(ParameterError, match="camera 'head'"):
            model(server).review(other)
        assert server.requests == []
