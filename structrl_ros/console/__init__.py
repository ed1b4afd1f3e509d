"""The local web page of a running graph: what is going on, and the buttons to step in.

May enter: FastAPI and the page's own files; no ROS.
`nodes.console_node` feeds `LiveState` and `PictureShelf` and carries out what `Operator` asks for;
`routes` serves both to browsers, behind the rules of `access`.
"""
