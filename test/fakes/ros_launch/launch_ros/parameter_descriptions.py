"""The typed parameter value of `launch_ros`."""


class ParameterValue:
    def __init__(self, value, *, value_type=None):
        self.value = value
        self.value_type = value_type
