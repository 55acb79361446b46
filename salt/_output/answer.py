"""What a runner of ours answers, as a person reads it: its text or its error alone."""

WORDS = ("text", "error")


def output(data: object, **_: object) -> str:
    """Return the words of an answer; of one without words, the answer itself.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.peek ratio=9
    """
    if not isinstance(data, dict) or not data.keys() & set(WORDS):
        return str(data)
    return "\n".join(data[key] for key in WORDS if data.get(key))
