"""Chaos: under load, something breaks at a moment of a stage, is mended, and the stages have to make it whole again.

``rounds`` draws what happens, ``moment`` and ``stage`` know when, ``faults`` and ``change`` do it, ``judge`` says what
is not as it has to be, ``game`` plays the rounds, ``record`` keeps what became of them.
"""
