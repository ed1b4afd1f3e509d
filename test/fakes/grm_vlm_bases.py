"""Tiny vision-language models of random weights, whose tokenizer knows the words of the GRM."""

import numpy as np
from transformers.utils import logging

from structrl_ros.models.vlm.tiny_vlm import SENTENCES
from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.prompt import make_prompt
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import make_views

LAYOUT = Layout(grid=2, cell_px=16)
VIEW_PX = 16


def rollout(count=5, *, goal=True, seed=0, layout=LAYOUT, view_px=VIEW_PX, roles=('head',)):
    """Return observations of noise."""
    rng = np.random.default_rng(seed)

    def views():
        pictures = {role: rng.integers(0, 256, (24, 24, 3), np.uint8) for role in roles}
        return make_views(pictures, view_px)

    made = Rollout(layout, views() if goal else None)
    for i in range(count):
        made.observe(i, views())
    return made


def save_base(folder, family='qwen3_vl', *, seed=0):
    """Write a base of 0.3 M parameters."""
    logging.disable_progress_bar()
    prompt = make_prompt('push the bar', rollout(roles=('head', 'left_wrist')).forward())
    words = (*SENTENCES, *prompt.text.split('\n'), '<score>+33%</score>', '<score>-50%</score>')
    save_tiny_vlm(folder, family, seed=seed, sentences=words)
    return folder
