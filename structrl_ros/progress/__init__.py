"""Progress: queries and panels, signed hops, pairs, curriculum, OOD operators, fusion, VOC.

May enter: numpy and the modules beside the rooms; no ROS, no torch, no other room.
Networks stand behind `ports.ProgressModel`; a query is made with its provenance or not at all.
"""
