"""Sites and their coordinator: questions, regrets, maskings, transcripts, transports."""

from .coordinator import Coordinator, InProcess, Transport
from .messages import Families, Orientations, Settings, Welcome
from .site import OracleSite, Respondent, Site
from .transcript import Replay, Transcript

__all__ = [
    "Coordinator",
    "Families",
    "InProcess",
    "OracleSite",
    "Orientations",
    "Replay",
    "Respondent",
    "Settings",
    "Site",
    "Transcript",
    "Transport",
    "Welcome",
]
