"""Guests of a real kernel and running labs for tests; lab/fixtures.py says what there is."""

from lab.fixtures import *  # noqa: F403  (pytest finds fixtures and hooks by name)
