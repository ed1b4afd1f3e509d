"""Launch description and context, as far as the launch files use them."""


class LaunchContext:
    def __init__(self):
        self.launch_configurations = {}


class LaunchDescription:
    def __init__(self, initial_entities=None):
        self.entities = list(initial_entities or [])
