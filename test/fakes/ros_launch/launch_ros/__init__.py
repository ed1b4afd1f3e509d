"""Stand-in for `launch_ros`: keeps what it is given."""
