"""Training of an event model, tiny: it goes on to the same weights and keeps the best check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip('peft')
pytest.importorskip('xgrammar')

from event_episodes import event_episode

from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.events.vlm import LocalEvents
from structrl_ros.models.vlm.loading import VlmSettings
from structrl_ros.models.vlm.loading import load_vlm
from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm
from structrl_ros.training.event_batches import EventQuestions
from structrl_ros.training.event_batches import tasks_alike
from structrl_ros.training.event_batches import true_answer
from structrl_ros.training.event_settings import EventSettings
from structrl_ros.training.event_trainer import Best
from structrl_ros.training.event_trainer import EventTraining
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_directory import open_run

pytestmark = pytest.mark.torch


@pytest.fixture(scope='module')
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('models') / 'tiny'
    save_tiny_vlm(folder, width=32, layers=1)
    return folder


def settings(base: Path, **changes: object) -> EventSettings:
    fields = {
        'base': str(base),
        'updates': 4,
        'rows': 2,
        'evaluate_every': 2,
        'max_tokens': 200,
        'learning_rate': 1e-2,
        'lora_rank': 2,
    }
    return EventSettings.model_validate({**fields, **changes})


def test_a_run_that_was_stopped_goes_on_to_the_same_weights(base: Path, tmp_path: Path) -> None:
    own, rows = settings(base), [event_episode(n) for n in range(5)]
    told: list[tuple[int, float | None]] = []
    whole = create_run(tmp_path / 'whole', {})
    training = EventTraining(own, rows, rows[:1], whole)
    adapter = training.train(lambda update, m: told.append((update, m['validation/iou'])))
    whole.close()
    assert [update for update, _ in told] == [2, 4]
    assert (adapter / 'adapter_model.safetensors').is_file()
    card = (adapter / 'README.md').read_text()
    assert f'update {training.best.update}:' in card

    first = create_run(tmp_path / 'parts', {})
    half = EventTraining(own, rows, rows[:1], first)
    half._is_over = lambda: half.done >= 2  # type: ignore[method-assign]
    half.train()
    first.close()
    again = open_run(tmp_path / 'parts')
    EventTraining(own, rows, rows[:1], again).train()
    again.close()
    kept = [
        load_tensors(tmp_path / name / 'checkpoint' / 'trainer.safetensors')[0]
        for name in ('whole', 'parts')
    ]
    assert kept[0].keys() == kept[1].keys()
    assert all(bool((kept[0][name] == kept[1][name]).all()) for name in kept[0])


def test_answers_of_a_local_model_are_whatever_it_is_reviews_of_the_rollout(base: Path) -> None:
    model = LocalEvents(load_vlm(VlmSettings(model=str(base), threads=1)), frames=3)
    review = model.review(event_episode().rollout())
    assert review.outcome in ('success', 'failure', 'uncertain')
    assert 0.0 <= review.confidence <= 1.0
    assert review.interval is None or 1 <= review.interval[0] <= review.interval[1] <= 8


def test_only_the_answer_is_learned_and_it_is_the_label(base: Path) -> None:
    vlm = load_vlm(VlmSettings(model=str(base), threads=1))
    rows = [event_episode(2), event_episode(3, error_type='unclear', interval=())]
    batch = EventQuestions(vlm.processor, rows, 3).batch([0, 1])
    learned = batch['labels'][0][batch['labels'][0] >= 0]
    said = vlm.tokenizer.decode(learned, skip_special_tokens=True)
    assert json.loads(said)['interval'] == [3, 3]
    assert json.loads(said)['evidence'] == [0, 1]
    assert json.loads(true_answer(rows[1]))['interval'] is None
    assert bool((batch['labels'][:, 0] < 0).all())


def test_a_set_without_pictures_and_a_run_without_a_base_are_refused(base: Path) -> None:
    vlm = load_vlm(VlmSettings(model=str(base), threads=1))
    bare = event_episode(images=(), frame_chunks=(), roles=())
    with pytest.raises(ParameterError, match='--pictures'):
        EventQuestions(vlm.processor, [bare], 3)
    with pytest.raises(ValueError, match='weights all'):
        settings(base, weights='all', adapter='a')


def test_the_best_check_has_the_highest_iou_then_the_lowest_loss_then_comes_first() -> None:
    best = Best(0.5, 1.0, 50)
    assert best.is_beaten_by(0.6, 2.0)
    assert best.is_beaten_by(0.5, 0.9)
    assert not best.is_beaten_by(0.5, 1.0)
    assert not best.is_beaten_by(0.4, 0.1)


def test_a_check_of_few_rollouts_takes_every_task_alike() -> None:
    rows = [event_episode(n, task='a' if n < 6 else 'b') for n in range(8)]
    assert [row.task for row in tasks_alike(rows, 4)] == ['a', 'a', 'b', 'b']
    assert len(tasks_alike(rows, 0)) == 8
