"""Flow matching from camera images and a short state vector, with a small image encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.flow import FlowPolicy
from structrl_ros.models.policies.network import ImageEncoder


@dataclass(frozen=True, kw_only=True)
class ImageFlowConfig(FlowConfig):
    """A flow policy that sees `roles`, and `feature_names` (proprioception) if there are any.

    Attributes:
        image_size: Height and width that pictures are brought to (by areas) before encoding.
        image_features: Numbers that a picture becomes.
    """

    architecture: ClassVar[str] = 'image_flow'

    image_size: tuple[int, int] = (96, 96)
    image_features: int = 128

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range.
        """
        super().__post_init__()
        if not self.roles:
            raise ParameterError('an image_flow policy needs roles; got none')
        if len(self.image_size) != 2 or min(self.image_size) < 16:
            raise ParameterError(f'image_size is {self.image_size}; allowed: two of 16 and more')
        if self.image_features < 1:
            raise ParameterError(f'image_features is {self.image_features}; allowed: 1 and more')


class ImageFlowPolicy(FlowPolicy):
    """A flow policy with one image encoder for each camera role."""

    config: ImageFlowConfig

    def __init__(self, config: ImageFlowConfig) -> None:
        super().__init__(config)
        self.eyes = torch.nn.ModuleDict(
            {role: ImageEncoder(config.image_features) for role in config.roles}
        )

    @classmethod
    def _inputs(cls, config: FlowConfig) -> int:
        assert isinstance(config, ImageFlowConfig)
        return config.feature_dimension + config.image_features * len(config.roles)

    def _perceive(self, inputs: PolicyInput) -> torch.Tensor:
        size = self.config.image_size
        seen = [self.eyes[role](sized(inputs.images[role], size)) for role in self.config.roles]
        return torch.cat((self.normaliser(inputs.features), *seen), dim=1)


def sized(images: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Return pictures (B, H, W, 3) brought to another height and width, by areas."""
    if images.shape[1:3] == size:
        return images
    pixels = images.permute(0, 3, 1, 2).float()
    return functional.interpolate(pixels, size, mode='area').round().permute(0, 2, 3, 1)
