"""Running labs for tests; lab/fixtures.py says what there is."""

from clusters import cluster, served, torn  # noqa: F401  (clusters on which the guide was typed)

from lab.fixtures import *  # noqa: F403  (pytest finds fixtures and hooks by name)
