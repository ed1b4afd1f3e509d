"""Claims of choosing among four plans: a letter by its logit, a question without secrets."""

import numpy as np
import pytest
from chat_server import ChatServer
from chat_server import chat

from structrl_ros.errors import StaleDataError
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.choosers import CHOICE_SCHEMA
from structrl_ros.models.vlm.choosers import LETTERS
from structrl_ros.models.vlm.choosers import LocalChooser
from structrl_ros.models.vlm.choosers import OpenAIChooser
from structrl_ros.models.vlm.choosers import choice_messages
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.types import Observation

OPTIONS = (('grasp soup', 'place soup in basket'), ('grasp soup',), ('open soup',), ('press it',))
ASKED = ('put the soup in the basket', ('soup', 'basket'), OPTIONS)


def seen(number=0):
    image = np.random.default_rng(number).integers(0, 255, (60, 60, 3), dtype=np.uint8)
    return Observation(1, 1, images={'head': image})


def test_server_gets_four_plans_and_the_pictures_that_are_wanted():
    with ChatServer(chat('{"answer": "B"}')) as server:
        settings = ChatSettings(base_url=server.url, model='m', key_variable='', retries=0)
        for roles in (('head',), ()):
            chooser = OpenAIChooser(settings, roles)
            assert chooser.choose(*ASKED, seen() if roles else None) == '{"answer": "B"}'
            chooser.close()
        with pytest.raises(StaleDataError, match='no image of head'):
            OpenAIChooser(settings).choose(*ASKED, None)
        bodies = [body for _, _, body in server.requests]
    parts = bodies[0]['messages'][1]['content']
    assert [part['type'] for part in parts] == ['text', 'image_url']
    assert 'A. grasp soup; place soup in basket\nB. grasp soup\n' in parts[0]['text']
    assert [part['type'] for part in bodies[1]['messages'][1]['content']] == ['text']
    assert bodies[0]['response_format']['json_schema']['schema'] == CHOICE_SCHEMA


@pytest.mark.torch
def test_local_model_picks_the_likeliest_letter(tmp_path):
    torch = pytest.importorskip('torch')
    pytest.importorskip('transformers')
    from structrl_ros.models.vlm.encoding import IMAGE_PART
    from structrl_ros.models.vlm.encoding import encode
    from structrl_ros.models.vlm.loading import VlmSettings
    from structrl_ros.models.vlm.loading import load_vlm
    from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm

    save_tiny_vlm(tmp_path / 'tiny')
    vlm = load_vlm(VlmSettings(model=str(tmp_path / 'tiny'), device='cpu'))
    chooser = LocalChooser(vlm)
    picked = set()
    for number in range(4):
        now = seen(number)
        messages = choice_messages(read_prompt('choose_letter_v1'), *ASKED, [IMAGE_PART])
        with torch.inference_mode():
            logits = vlm.model(**encode(vlm, messages, [now.images['head']])).logits[0, -1]
        scores = [float(logits[vlm.tokenizer.encode(a)[0]]) for a in LETTERS]
        answer = chooser.choose(*ASKED, now)
        assert answer == LETTERS[int(np.argmax(scores))]
        picked.add(answer)
    assert picked <= set(LETTERS)
