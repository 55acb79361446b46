"""What the hunts for secrets run inside a node: Python programs, handed over as text."""

# argv: FOLDERS joined by ":", seconds since 1970, "root" or "nobody", texts. Prints each file changed since then that
# holds one of the texts and that this user can read, a line each.
FILES = r"""
import os, stat, sys
folders, since, user, *texts = sys.argv[1:]
if user == "nobody":
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
wanted = [text.encode() for text in texts]
apart = ("/proc", "/sys", "/dev/disk", "/etc/lab")
for top in folders.split(":"):
    for folder, below, files in os.walk(top):
        below[:] = [name for name in below if os.path.join(folder, name) not in apart]
        for name in files:
            path = os.path.join(folder, name)
            try:
                found = os.lstat(path)
                if not stat.S_ISREG(found.st_mode) or found.st_ctime < float(since):
                    continue
                with open(path, "rb") as file:
                    held = file.read()
            except OSError:
                continue
            if any(text in held for text in wanted):
                print(path)
"""

# argv: texts. Prints the journal's lines that hold one of them.
JOURNAL = r"""
import subprocess, sys
journal = subprocess.run(["journalctl", "--all", "--no-pager", "-o", "export"], capture_output=True, check=True).stdout
print(*(line for line in journal.split(b"\n") if any(text.encode() in line for text in sys.argv[1:])), sep="\n", end="")
"""

# argv: JSON {pillar, grains, minion}. Gets the pillar that the master compiles for this minion when it asks as told,
# and prints the hash of every word in it: Salt masks secrets that it prints, so printed pillar shows nothing.
PILLAR = r"""
import hashlib, json, sys
import salt.config, salt.loader, salt.minion, salt.pillar
asked = json.loads(sys.argv[1])
opts = salt.config.minion_config("/etc/salt/minion")
opts.update(salt.minion.resolve_dns(opts))
opts["grains"] = {**salt.loader.grains(opts), **asked["grains"]}
got = salt.pillar.get_pillar(
    opts, opts["grains"], asked["minion"] or opts["id"], "base", pillar_override=asked["pillar"]
).compile_pillar()

def texts(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(key)
            yield from texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts(inner)
    else:
        yield str.__str__(value) if isinstance(value, str) else str(value)

words = {word for text in texts(got) for word in text.split()}
print(json.dumps(sorted(hashlib.sha256(word.encode()).hexdigest() for word in words)))
"""
