"""A cluster that others made, taken in: what was found is judged, and written as proposals that change nothing."""
