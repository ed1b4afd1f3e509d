"""Wire: topic names, QoS and codecs between messages and dataclasses.

May enter: ROS messages, QoS and `types`; no logic.
Besides nodes and four named drivers the only room that knows messages.
"""
