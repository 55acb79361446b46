"""What lies under ``proposals/``, what policy.cfg selects of it, and how the selected files merge."""
