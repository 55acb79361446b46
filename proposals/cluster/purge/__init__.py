"""Taking a cluster apart: what of it is where, what stands against it, how far it got. Nothing here opens a file.

A daemon, file or disk is this cluster's where it says so itself: by its key, its label, its tags, its record.
"""
