"""Wrong usage of a command line as one message with the nearest right word."""

import argparse
import re
from typing import NoReturn

from proposals.text.errors import ProposalError
from proposals.text.names import nearest, shown

_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """argparse, whose errors are raised and name what is nearest."""

    def error(self, message: str) -> NoReturn:
        """Raise ProposalError in argparse's words; a verb or value that is none is told with the nearest."""
        if wrong := _CHOICE.fullmatch(message):
            what = "a verb" if wrong[1] == "VERB" else f"a value of {wrong[1]}"
            known = re.findall(r"[\w-]+", wrong[3])
            raise ProposalError(f"'{shown(wrong[2])}' is not {what}{nearest(wrong[2], known)}")
        raise ProposalError(f"{message} ({' '.join(self.format_usage().split())})")

    def unknown(self, words: list[str]) -> NoReturn:
        """Raise ProposalError for options that this verb does not have."""
        options = re.findall(r"--[\w-]+", self.format_usage())
        odd = next((word for word in words if word.startswith("-")), words[0]).partition("=")[0]
        near = nearest(odd, options) if odd.startswith("--") and options else ""
        raise ProposalError(f"not understood: {shown(odd)}{near} ({' '.join(self.format_usage().split())})")
