"""Settings of `structrl train diffusion`."""

from __future__ import annotations

from pydantic import Field

from structrl_ros.models.policies.diffusion import DiffusionConfig
from structrl_ros.training.checked_model import CheckedModel
from structrl_ros.training.diffusion_chunks import PictureChunks


class DiffusionSettings(CheckedModel):
    """Sizes of the policy, and how it imitates."""

    seed: int = Field(0, ge=0, lt=2**31, description='Seed of weights, minibatches and noise.')
    device: str = Field('cpu', description="Where the policy is: 'cpu', 'cuda:0', ...")
    updates: int = Field(4000, ge=1, description='Gradient steps.')
    batch: int = Field(32, ge=1, description='Chunks of a gradient step.')
    draws: int = Field(4, ge=1, description='Noised copies of each chunk, for one look at it.')
    learning_rate: float = Field(1e-3, gt=0, description='Peak of OneCycle; Adam.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    ema_decay: float = Field(0.995, ge=0, lt=1, description='Of the averaged weights, a step.')
    checkpoint_every: int = Field(250, ge=1, description='Updates between two checkpoints.')
    place_weight: float = Field(
        1.0, ge=0, description='Weight of telling where the thing is, where the data say so.'
    )
    brightness: float = Field(0.2, ge=0, lt=1, description='Largest gain over and under 1.')
    colour: float = Field(0.1, ge=0, lt=1, description='The same, of each colour by itself.')
    shift_px: int = Field(2, ge=0, description='Largest shift of a picture, pixels.')
    image_size: int = Field(96, ge=16, description='Height and width that pictures have.')
    hidden: int = Field(256, ge=1, description='Numbers that all that is seen becomes.')
    channels: tuple[int, ...] = Field((32, 64, 128), description='Of the U-Net.')
    denoising_steps: int = Field(10, ge=1, le=100, description='Steps of DDIM.')
    language: str = Field('ngrams', description='ngrams, or transformer:FOLDER.')
    prompt: str = Field('subtask', description='Sentence that is read: subtask or instruction.')
    control_rate_hz: float = Field(20.0, gt=0, le=1000, description='Rows of a chunk a second.')

    def config(self, chunks: PictureChunks) -> DiffusionConfig:
        """Return the policy for these chunks.

        Raises:
            ParameterError: If a size does not suit it.
        """
        return DiffusionConfig(
            feature_names=chunks.feature_names,
            chunk_length=chunks.actions.shape[1],
            roles=tuple(chunks.images),
            control_rate_hz=self.control_rate_hz,
            hidden=self.hidden,
            denoising_steps=self.denoising_steps,
            image_size=(self.image_size, self.image_size),
            channels=self.channels,
            language=self.language,
            prompt=self.prompt,
        )
