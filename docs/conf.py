"""How Sphinx builds the site and the man pages (``make docs``)."""

project = "Halocline"
author = copyright = "The Halocline authors"
extensions = ["myst_parser"]
exclude_patterns = ["generate"]
html_theme = "alabaster"
html_theme_options = {"description": "plans and deploys Ceph with Salt", "fixed_sidebar": True}
myst_heading_anchors = 3
man_pages = [
    ("reference/planner-commands", "halocline-proposals", "plan disks and networks without Salt", author, 1),
    ("reference/commands", "halocline-run", "what salt-run offers", author, 8),
    ("reference/planner-arguments", "halocline-arguments", "arguments of the planner", author, 7),
    ("reference/network-arguments", "halocline-networks", "arguments of network plans", author, 7),
    ("reference/filters", "halocline-filters", "filters that select disks", author, 7),
    ("reference/settings", "halocline-settings", "what a site may write", author, 5),
    ("reference/policy", "halocline-policy", "policy.cfg, the admin's choice", author, 5),
    ("reference/files", "halocline-files", "files that a site keeps", author, 5),
]
