"""What leaves a running cluster because no profile and no role names it any more: the list, its gates, its order.

``items`` says what leaves, ``roles``, ``domains`` and ``room`` what stands against it, ``record`` what was confirmed.
Nothing here asks a minion or opens a file.
"""
