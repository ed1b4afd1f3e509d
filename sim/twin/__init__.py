"""The kinematic twin of the tabletop: thousands of episodes a CPU-second, in numpy alone.

May enter: numpy alone, arrays over lanes; tasks and experts are those of `tabletop`.
A lane plays the same whatever the other lanes do.
"""
