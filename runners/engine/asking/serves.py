"""What this master serves its minions beside Halocline, told by its options: then it has had its work before us."""

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proposals.files.site import site

OURS = ("_utils/halocline.py", "ceph/stack.cfg")  # by these our own file root and pillar root are known


def beside(opts: Mapping) -> str | None:
    """Return the first of it as a message names it; None where there is nothing.

    opts
        The master's options.
    """
    return next(_found(opts), None)


def _found(opts: Mapping) -> Iterator[str]:
    yield from _tops(opts)
    if site(opts).current.is_dir():  # whose minions they are was settled before that generation
        return
    if opts.get("master_tops"):
        yield f"master_tops {', '.join(map(str, opts['master_tops']))}"
    told = opts.get("fileserver_backend") or []
    if others := [str(each) for each in ([told] if isinstance(told, str) else told) if each != "roots"]:
        yield f"fileserver_backend {', '.join(others)}"
    for each in opts.get("ext_pillar") or ():
        if not _our_stack(opts, each):
            yield f"ext_pillar {', '.join(each) if isinstance(each, Mapping) else each}"


def _tops(opts: Mapping) -> Iterator[str]:
    """Top files of any environment: a minion is served by all of them. Salt passes over what is no file."""
    name = opts["state_top"].removeprefix("salt://").lstrip("/")
    for kind in ("file_roots", "pillar_roots"):
        for root in (Path(root) for roots in opts[kind].values() for root in roots):
            if not any((root / own).exists() for own in OURS):
                # `__env__` in a root stands for the name of any environment.
                pattern = glob.escape(str(root.absolute() / name)).replace("__env__", "*")
                yield from (str(top) for top in sorted(Path("/").glob(pattern[1:])) if top.is_file())


def _our_stack(opts: Mapping, pillar: Any) -> bool:
    """Whether an entry of ``ext_pillar`` is that of srv/master.d/halocline.conf."""
    files = pillar.get("stack") if isinstance(pillar, Mapping) and len(pillar) == 1 else None
    return isinstance(files, list) and all(Path(str(file)).parent == site(opts).current for file in files)
