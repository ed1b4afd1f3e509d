"""The Node action, with the keywords of Jazzy's `launch_ros.actions.Node` that are used."""


class Node:
    def __init__(
        self,
        *,
        executable,
        package,
        name,
        namespace,
        parameters,
        remappings,
        respawn,
        respawn_delay,
        respawn_max_retries,
        on_exit,
        additional_env,
        output,
    ):
        self.given = {key: value for key, value in locals().items() if key != 'self'}
