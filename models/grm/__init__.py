"""Networks of the GRM of Robo-Dopamine 2.0, behind `ports.ProgressModel`.

May enter: torch and transformers; queries from `progress.context`.
A network gives hops; potential and shaping are computed in `progress` and `rewards`.
"""
