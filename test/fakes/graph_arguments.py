"""Arguments that a graph does not start without: what could hurt somebody has no default."""

#: Of the graph `deploy`, for an arm.
FRANKA = {
    'body': 'franka',
    'robot_ip': '172.16.0.2',
    'box_low': '0.3,-0.4,0.02',
    'box_high': '0.7,0.4,0.6',
    'openai_base_url': 'http://127.0.0.1:8000/v1',
    'openai_model': 'a-model',
    'policy_server': 'ws://127.0.0.1:8001',
}
