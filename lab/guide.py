"""The guide's way to a cluster, as data: the commands that an admin types on the master, and the policy.cfg."""

from dataclasses import dataclass

import yaml

from lab.errors import LabError
from lab.store import CHECKOUT

FOLDER = CHECKOUT / "lab" / "guides"
POLICY = "/srv/pillar/ceph/proposals/policy.cfg"


@dataclass(frozen=True)
class Guide:
    """One way: its commands in order (`policy.cfg` stands where that file is written), the profile's name."""

    commands: tuple[str, ...]
    profile: str
    policy: str

    @property
    def write_policy(self) -> str:
        """The shell command that writes policy.cfg."""
        return f"cat > {POLICY} <<'EOF'\n{self.policy}EOF"


def guide(cluster: str) -> Guide:
    """Read the guide of a cluster; LabError where there is none."""
    path = FOLDER / f"{cluster}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.yaml")))
        raise LabError(f"there is no guide for {cluster}: {path} does not exist; there are guides for {known}.")
    content = yaml.safe_load(path.read_text())
    return Guide(tuple(content["commands"]), content["profile"], content["policy"])
