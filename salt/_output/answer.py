"""What a runner of ours answers, as a person reads it: its text or its error alone."""


def output(data, **_):
    """Return the words of an answer; of one without words, the answer itself.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.peek ratio=9
    """
    words = [data[key] for key in ("text", "error") if data.get(key)] if isinstance(data, dict) else []
    return "\n".join(words) or str(data)
