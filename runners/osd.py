"""``salt-run osd.*``: the cluster's OSDs, on all hosts."""

from proposals import answer, report, store
from proposals.errors import PolicyError
from proposals.site import site


@answer.answers
def report_(**_):
    """Show every planned OSD's real data, DB and WAL beside the plan; exit status 1 where one differs.

    CLI Example:

    .. code-block:: bash

        salt-run osd.report
    """
    planned, members = _served(site(__opts__))
    hosts = __salt__["minions.ask"](members["storage"], ["osd.report"])
    admins = __salt__["minions.ask"](members["master"], ["osd.metadata"])
    metadata = next((given["osd.metadata"] for given in admins.values()), None)
    if not isinstance(metadata, list):
        return answer.bad(f"{', '.join(members['master'])} cannot ask the cluster ('ceph osd metadata'): {metadata}")
    lines = report.report(planned, {minion: given["osd.report"] for minion, given in hosts.items()}, metadata)
    wrong = [line for line in lines if line["problems"]]
    text = "\n".join(
        [*(_text(line) for line in lines), f"{len(lines) - len(wrong)} of {len(lines)} OSDs are as planned"]
    )
    return answer.told(text, {"osds": lines}, __opts__.get("output"), status=1 if wrong else 0)


__func_alias__ = {"report_": "report"}


def _served(paths):
    """The planned OSDs of the generation that is served, and who has which role."""
    folder = paths.current / "stack" / "default" / "ceph" / "minions"
    told = {path.name.removesuffix(".yml"): store.read_yaml(path) for path in folder.glob("*.yml")}
    if not told:
        raise PolicyError("nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first")
    members = told.pop(__opts__["id"])["ceph"]["members"]
    return {minion: content["ceph"]["storage"]["osds"] for minion, content in told.items()}, members


def _text(line):
    where = " ".join(
        f"{role} {line[role]} {_size(line[f'{role}_size'])}" for role in ("data", "db", "wal") if line[role]
    )
    state = "; ".join(line["problems"]) or "as planned"
    return f"osd.{line['id']} {line['host']} {where}: {state}"


def _size(size):
    return f"{size / 2**30:.1f} GiB" if size else "-"
