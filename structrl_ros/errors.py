"""The one exception tree: every error that a user can cause is a `StructRLError`.

A message says what was wrong, what was got and what is allowed, in one line. The command line
prints that line and exits with status 1; a node logs it, holds the arm and goes on.
"""

#: Characters of a line about a message.
_LONGEST = 500


class StructRLError(Exception):
    """Base of every error that a user's input or a failing device can cause."""


class PlanSyntaxError(StructRLError):
    """Text of a planner is no valid plan.

    Attributes:
        position: Character offset in the text where the fault was seen, or None.
    """

    def __init__(self, message: str, *, position: int | None = None) -> None:
        """Keep the message and the place of the fault."""
        super().__init__(message)
        self.position = position


class PlannerUnavailableError(StructRLError):
    """A planner or monitor backend did not answer: refused, timed out or an error status."""


class AnswerError(PlannerUnavailableError):
    """A backend answered, but with something that nobody can read."""


class ParameterError(StructRLError):
    """A parameter, argument or field of a document has a wrong name, type or value."""


class StaleDataError(StructRLError):
    """An observation, chunk or verdict is older (or newer) than its limit."""


class CheckpointError(StructRLError):
    """A checkpoint is missing, cut, of another architecture or of another action space."""


class PolicyError(StructRLError):
    """A policy was given, or gave, NaN or a wrong shape; or its server failed.

    Attributes:
        row: First row of the batch that was at fault, None where it is no single row's.
    """

    def __init__(self, message: str, *, row: int | None = None) -> None:
        """Keep the message and the row."""
        super().__init__(message)
        self.row = row


class LimitError(StructRLError):
    """A command is outside the limits of the robot or of the workspace."""


class MessageError(StructRLError):
    """A message breaks the contract: over-long array, NaN, wrong size."""

    def __init__(self, message: str) -> None:
        """Keep one line of bounded length: what is quoted in it may be anybody's."""
        line = ' '.join(message.splitlines())
        super().__init__(line if len(line) <= _LONGEST else f'{line[:_LONGEST]}...')


class SimulationError(StructRLError):
    """A simulated world is missing, unknown or failed."""


class BagError(StructRLError):
    """A recording is missing, cut or holds something unexpected."""


class TrainingError(StructRLError):
    """A trainer cannot go on: numbers that are not finite, or worlds that failed twice."""


class CameraError(StructRLError):
    """A camera is missing, was lost, or gives something else than it was asked for."""


class CalibrationError(StructRLError):
    """A calibration cannot be had from what was recorded, or its file is wrong."""


class ArmError(StructRLError):
    """An arm is missing, refused, or stopped by itself."""


class DatasetError(StructRLError):
    """A data set of demonstrations is missing, cut, of another version or another layout."""
