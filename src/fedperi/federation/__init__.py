"""Sites and their coordinator: questions, regrets, maskings, transcripts, transports."""

from .coordinator import Coordinator, InProcess, Transport
from .messages import Families, Orientations, Settings, Welcome
from .pool import Pooled, Threaded
from .site import OracleSite, Respondent, Site
from .transcript import Replay, Transcript

__all__ = [
    "Coordinator",
    "Families",
    "InProcess",
    "OracleSite",
    "Orientations",
    "Pooled",
    "Replay",
    "Respondent",
    "Settings",
    "Site",
    "Threaded",
    "Transcript",
    "Transport",
    "Welcome",
]
