"""``python -m docs.generate``: write the reference pages; ``--check``: only say what does not match the code."""

import argparse
import sys

from docs.generate import examples, pages


def main() -> None:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare pages, and judge every example of code and docs")
    if parser.parse_args().check:
        lines = [
            f"{path.relative_to(pages.ROOT)} does not match the code: run 'make docs'" for path in pages.differing()
        ]
        lines += [f"{each.place}: '{each.text}': {why}" for each, why in examples.wrong()]
        if lines:
            sys.exit("\n".join(lines))
        return
    for path, text in pages.rendered().items():
        path.write_text(text)


main()
