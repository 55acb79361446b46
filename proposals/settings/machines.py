"""What a site expects of its machines: checks compare hosts with it."""

from proposals.settings.cluster import LAYER
from proposals.settings.kinds import Choice, Setting, Text
from proposals.settings.mappings import Group, Many, Named

LEVELS = Named(
    Text("a model, `*` for any text", bool),
    Many(Text("a version, in quotes where it looks like a number: YAML reads 2.10 as 2.1", bool, numbers=False)),
    "{ProLiant XL450 Gen10: U40}",
    "MODEL",
)
PARTS = {
    "bios": "versions of machines' own firmware, by the machine's model (`/sys/class/dmi/id/product_name`)",
    "disk": "versions of disks' firmware, by the disk's model",
    "port": "versions of network ports' firmware, by the driver's name such as `mlx5_core`",
    "raid": "versions of RAID controllers' firmware, by the controller's model",
}
SETTINGS = (
    Setting(
        "machines",
        Group(
            (
                Setting("boot", Choice(("uefi", "bios")), "how hosts start; as most of them where nothing is said"),
                Setting(
                    "firmware",
                    Group(tuple(Setting(kind, LEVELS, meaning, default={}) for kind, meaning in PARTS.items())),
                    "firmware that is right, a version or a list of them; what is not named is not compared",
                    default={},
                ),
            )
        ),
        "what the site's machines are to be; checks compare the hosts with it",
        default={},
        place=LAYER,
    ),
)
