"""Stand-in for `launch`: keeps what it is given."""

from launch.description import LaunchContext
from launch.description import LaunchDescription

__all__ = ['LaunchContext', 'LaunchDescription']
