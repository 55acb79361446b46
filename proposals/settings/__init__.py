"""Site settings: one table that says what a site may write, one reader, one form of error.

A row is a ``Setting``: key, kind, meaning, default, source. Kinds read a value, say what they expect (with range or
choices), and hold the rows within. ``table.rows()`` gives all of them, nested ones too, in the order of the page::

    for path, row in table.rows():                 # "rgw_frontend: port", row
        print(path, row.kind.expected, row.default, row.meaning, row.source, row.place)

A mapping with names of the site's own has a word in capitals in its path: ``cephfs: NAME: max_mds``; a group that
repeats another's rows names its path as ``kind.like`` and is not walked again. ``place``, of rows that are not nested,
is the file below ``<pillar_root>/ceph``. To add a setting, add a row: the reader, the errors, the search for misspelt
keys and the reference page follow.
"""
