"""A site that adds noise to every answer: what it answers from, and the book of answers that it keeps."""

from .site import NoisySite

__all__ = ["NoisySite"]
