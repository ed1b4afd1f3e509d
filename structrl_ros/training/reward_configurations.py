"""Named ways to pay: those that StructRL's tables and figures compare.

| experiment | names |
|---|---|
| Figure 3, one component more each | terminal, fixed, paced, structured |
| Figure 4 and Table 9, density | density_0 ... density_52 |
| Figure 8, beta | beta_0.2, beta_0.6, beta_1.0, beta_2.0 |
| Table 2, source of the reward | robometer |
| Table 11, time of the signal | density_5, earlier_5 |
| Table 11, total reward | unbounded_14, capped_14 |
| Table 12, durations | structured, uniform |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.density import LEVELS

#: B of Table 11, which the paper does not number: what Pack Lunch pays at density 5, the paper's
#: best, if each of its 6 subtasks pays beta / 2.
CAP = 6 * 0.6 / 2

KINDS = ('structured', 'terminal', 'robometer')


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfiguration:
    """A way to pay; the fields are those of `types.RewardRule`.

    Attributes:
        name: How commands and reports call it.
        kind: One of `KINDS`.
        variant: Which of a task's decompositions is paid, '' for its own.
    """

    name: str
    kind: str = 'structured'
    variant: str = ''
    beta: float = 0.6
    lambda_c: float = 2.0
    gating: bool = True
    pacing: str = 'demo'
    cap: float | None = None

    def __post_init__(self) -> None:
        """Refuse unknown words; numbers are checked by the reward itself."""
        if self.kind not in KINDS:
            raise ParameterError(f'kind: unknown {self.kind!r}; allowed: {", ".join(KINDS)}')


def _all() -> list[RewardConfiguration]:
    whole = RewardConfiguration(name='structured')
    dense = RewardConfiguration(name='unbounded_14', variant='density_14', pacing='fixed')
    return [
        whole,
        RewardConfiguration(name='terminal', kind='terminal'),
        RewardConfiguration(name='density_0', kind='terminal'),
        RewardConfiguration(name='robometer', kind='robometer'),
        RewardConfiguration(name='fixed', gating=False, pacing='fixed'),
        RewardConfiguration(name='fixed_gated', pacing='fixed'),
        RewardConfiguration(name='paced', gating=False),
        RewardConfiguration(name='uniform', pacing='uniform'),
        *(
            dataclasses.replace(whole, name=f'density_{level}', variant=f'density_{level}')
            for level in LEVELS[1:]
        ),
        RewardConfiguration(name='earlier_5', variant='earlier_5'),
        dense,
        dataclasses.replace(dense, name='capped_14', cap=CAP),
        *(
            dataclasses.replace(whole, name=f'beta_{beta}', beta=beta)
            for beta in (0.2, 0.6, 1.0, 2.0)
        ),
    ]


#: All named configurations.
REWARDS: Mapping[str, RewardConfiguration] = MappingProxyType({c.name: c for c in _all()})


def find_reward(name: str) -> RewardConfiguration:
    """Return a named configuration.

    Raises:
        ParameterError: If there is none of this name.
    """
    found = REWARDS.get(name)
    if found is None:
        raise ParameterError(f'unknown reward {name!r}; known: {", ".join(REWARDS)}')
    return found
