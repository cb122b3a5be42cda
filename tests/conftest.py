"""Settings shared by all tests: hypothesis draws a thousand cases a property, the same ones in every run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fedperi",
    max_examples=1000,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fedperi")
