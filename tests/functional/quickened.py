"""What Salt works out anew for each of its loaders, kept: it took a third of the functional tests.

A pillar that is compiled has a dozen loaders, and most commands of a master compile one.
"""

import os
from collections.abc import Iterable

from salt.loader.lazy import LazyLoader
from salt.syspaths import INSTALL_DIR  # no file comes here while tests run, but what Python compiles
from salt.utils.optsdict import OptsDict

OPTIONS = ("cython_enable", "enable_zip_modules", "optimization_order")


def loaders() -> None:
    """Let loaders of the same folders, with the same files in them, share which file is which module.

    Whether options are empty, which each copy of them is asked, their first key tells: Salt counts all.
    """
    OptsDict.__bool__ = lambda opts: any(key in opts for key in opts._get_all_keys())
    real, known = LazyLoader._refresh_file_mapping, {}

    def refresh(loader: LazyLoader) -> None:
        options = [repr(loader.opts.get(name)) for name in OPTIONS]
        key = (loader.tag, *options, *sorted(loader.disabled), None, *loader.static_modules, *_seen(loader.module_dirs))
        if key not in known:
            real(loader)
            known[key] = loader.file_mapping, loader.suffix_map, loader.suffix_order
        mapping, suffixes, order = known[key]
        loader.file_mapping, loader.suffix_map, loader.suffix_order = dict(mapping), dict(suffixes), list(order)

    LazyLoader._refresh_file_mapping = refresh


def _seen(folders: Iterable[str]) -> Iterable[tuple[str, ...]]:
    """Each folder with the names of its files, and of those in the folders in it."""
    for folder in map(str, folders):
        inside = [] if folder.startswith(INSTALL_DIR) else sorted(os.walk(folder))
        yield folder, *(name for place, _, files in inside for name in (place, *sorted(files)))
