"""A running cluster on newer packages: what may be upgraded, in which order, and what the monitors keep of it.

``hosts`` reads what hosts tell, ``versions`` has the rules of releases, ``order`` says who comes when, ``systems`` what
file systems need meanwhile, ``record`` what is kept, ``told`` what is said.
"""
