"""Wire: topic names, QoS and codecs between messages and dataclasses."""
