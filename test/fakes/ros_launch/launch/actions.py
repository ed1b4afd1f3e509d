"""Actions of `launch`, as far as the launch files use them."""


class DeclareLaunchArgument:
    def __init__(self, name, *, default_value=None, description=None, choices=None):
        if choices is not None and default_value is not None and default_value not in choices:
            raise RuntimeError(f'default {default_value!r} of {name!r} is not in {choices}')
        self.name = name
        self.default_value = default_value
        self.description = description
        self.choices = choices

    def execute(self, context):
        context.launch_configurations.setdefault(self.name, self.default_value)


class OpaqueFunction:
    def __init__(self, *, function, args=None, kwargs=None):
        self._call = lambda context: function(context, *(args or []), **(kwargs or {}))

    def execute(self, context):
        return self._call(context)


class Shutdown:
    def __init__(self, *, reason='reason not given'):
        self.reason = reason
