"""Many minions in one process, which speak Salt's own wire protocol to a real master (``master.py``).

Real: each has its id, its own session key, its connection to the publisher and to the request server; signing in,
encryption, jobs, returns, ``find_job`` and pillar requests are Salt's own code and messages. Simulated: what a job does
(``hosts.py``; it takes 10 to 100 ms), and all share one RSA key pair. A run of states fetches its pillar as a minion's
does, but no file of the file server.
"""

import asyncio
import json
import random
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import salt.channel.client
import salt.config
import salt.crypt
import salt.loader
import salt.payload
import zmq
import zmq.asyncio
from hosts import MISSING, Host, names

QUICK = (0.01, 0.1)  # seconds of an answer that is not slow
AT_ONCE = 20  # that sign in at the same time: a master has few workers
FETCHING = ("saltutil.refresh_pillar", "state.sls", "state.apply")  # functions that fetch the pillar
OF_SALT = ("saltutil.", "test.")  # which lie for nobody
LIES = ("?" * 3000 + "\x1b[2J", [1, {"a": None}], {"ceph_disks": "x", "format": 99}, None)


class Requests:
    """A connection to the master's request server that shares the process's context: what a channel sends by."""

    ttype = "zeromq"

    def __init__(self, context: zmq.asyncio.Context, uri: str) -> None:
        self.socket = context.socket(zmq.REQ)
        self.socket.connect(uri)

    async def send(self, load: Mapping[str, Any], timeout: float = 60) -> Any:
        """Send one message and return its answer; a channel sends one at a time."""
        await self.socket.send(salt.payload.dumps(load))
        return salt.payload.loads(await self.socket.recv())


class Minion:
    """One identity of the fleet. Its manner is ``well``, ``silent``, ``slow`` or ``lying``."""

    def __init__(self, fleet: "Fleet", host: Host) -> None:
        self.host = host
        self.running: dict[str, dict] = {}
        self.random = random.Random(host.name)
        self.fleet = fleet
        opts = {**fleet.opts, "id": host.name}
        self.auth = salt.crypt.AsyncAuth(opts, io_loop=fleet.loop)
        self.auth._private_key = fleet.key  # read once: to read an RSA key takes as long as to sign with it
        transport = Requests(fleet.context, opts["master_uri"])
        self.channel = salt.channel.client.AsyncReqChannel(opts, transport, self.auth)

    @property
    def manner(self) -> str:
        """How it is now."""
        return self.fleet.manners.get(self.host.name, "well")

    async def start(self) -> None:
        """Sign in, then hear jobs; fetch the pillar as a minion's start does, where that is asked."""
        await self.auth.authenticate()
        jobs = self.fleet.context.socket(zmq.SUB)
        jobs.setsockopt(zmq.SUBSCRIBE, b"")
        jobs.connect(f"tcp://127.0.0.1:{self.auth.creds['publish_port']}")
        self.listens = asyncio.create_task(self._listen(jobs))
        if self.fleet.fetches:
            await self._fetch()

    async def _fetch(self) -> None:
        told = {"id": self.host.name, "grains": self.host.grains, "saltenv": "base", "pillarenv": None}
        load = {**told, "pillar_override": {}, "extra_minion_data": {}, "ver": "2", "cmd": "_pillar"}
        pillar = await self.channel.crypted_transfer_decode_dictentry(load, dictkey="pillar", timeout=600, tries=1)
        self.host.pillar = {key: pillar[key] for key in ("ceph", "roles") if key in pillar}

    async def _listen(self, jobs: zmq.asyncio.Socket) -> None:
        while True:
            *_, message = await jobs.recv_multipart()
            if self.manner == "silent":
                continue
            job = self.fleet.read(self.auth, message)
            if self.host.name in job["tgt"] if job["tgt_type"] == "list" else job["tgt"] == "*":
                self.fleet.begin(self._work(job))

    async def _work(self, job: Mapping[str, Any]) -> None:
        """Do a job and return it; one answers what another asks meanwhile, as a minion's processes do."""
        several = isinstance(job["fun"], list)
        functions, arguments = (job["fun"], job["arg"]) if several else ([job["fun"]], [job["arg"]])
        if functions == ["saltutil.find_job"]:
            await self._return(job, self.running.get(str(arguments[0][0]), {}), 0, True)
            return
        self.running[job["jid"]] = {key: job[key] for key in ("jid", "fun", "arg", "tgt")}
        await asyncio.sleep(self.fleet.slow if self.manner == "slow" else self.random.uniform(*QUICK))
        if any(function in FETCHING for function in functions):
            await self._fetch()
        done = {one: self._answer(one, words) for one, words in zip(functions, arguments, strict=True)}
        del self.running[job["jid"]]
        if several:
            answers, codes = ({one: each[at] for one, each in done.items()} for at in (0, 1))
            await self._return(job, answers, codes, {one: code == 0 for one, code in codes.items()})
        else:
            answer, code = done[job["fun"]]
            await self._return(job, answer, code, code == 0)

    def _answer(self, function: str, arguments: Sequence[Any]) -> tuple[Any, int]:
        """What it says, and the status."""
        if self.manner == "lying" and not function.startswith(OF_SALT):
            return self.random.choice(LIES), 0
        words = [word for word in arguments if not (isinstance(word, dict) and word.get("__kwarg__"))]
        try:
            return self.host.answer(function, words), 0
        except KeyError:
            return MISSING, 1

    async def _return(self, job: Mapping[str, Any], answer: Any, code: Any, success: Any) -> None:
        told = {"jid": job["jid"], "fun": job["fun"], "fun_args": job["arg"], "user": job.get("user", "root")}
        more = {"return": answer, "retcode": code, "success": success, "cmd": "_return", "id": self.host.name}
        out = {"out": "highstate"} if job["fun"] in ("state.sls", "state.apply") else {}
        await self.channel.send({**told, **more, **out}, timeout=600, tries=1)


class Fleet:
    """All of them, in one event loop."""

    def __init__(self, opts: dict[str, Any], folder: Path, slow: float, fetches: bool) -> None:
        self.opts, self.folder, self.slow, self.fetches = opts, folder, slow, fetches
        self.loop = asyncio.get_running_loop()
        self.manners: Mapping[str, str] = {}
        self.context = zmq.asyncio.Context()
        self.context.set(zmq.MAX_SOCKETS, 10_000)
        self.key = salt.crypt.PrivateKey.from_file(Path(opts["pki_dir"], "minion.pem"))
        self.heard: tuple[bytes, dict] = (b"", {})
        self.tasks: set[asyncio.Task] = set()

    def behave(self) -> None:
        """Read from now on how each of them is, and say so."""
        self.manners = json.loads((self.folder / "manners.json").read_text())
        print(f"{len(self.manners)} minions are odd", flush=True)

    def read(self, auth: salt.crypt.AsyncAuth, message: bytes) -> dict[str, Any]:
        """A published job. All get the same bytes, with the same key: they are read once."""
        if message != self.heard[0]:
            self.heard = message, auth.crypticle.loads(salt.payload.loads(message)["load"])
        return self.heard[1]

    def begin(self, work: Any) -> None:
        """Go on with something beside; a failure ends the process with its traceback."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task) -> None:
        self.tasks.discard(task)
        if error := task.exception():
            sys.excepthook(type(error), error, error.__traceback__)

    async def run(self, count: int, part: slice) -> None:
        """Start those of this process, say so on standard output, and answer until the process is ended."""
        grains = {**salt.loader.grains(self.opts), "os_family": "Debian", "os": "Debian", "oscodename": "bookworm"}
        minions = [Minion(self, Host(name, place, grains)) for place, name in list(enumerate(names(count)))[part]]
        turns = asyncio.Semaphore(AT_ONCE)

        async def start(minion: Minion) -> None:
            async with turns:
                await minion.start()

        await asyncio.gather(*map(start, minions))
        self.loop.add_signal_handler(signal.SIGHUP, self.behave)
        self.behave()
        await asyncio.Event().wait()


def main() -> None:
    folder, slow, fetches = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "fetches"
    count, first, end = map(int, sys.argv[4:])
    opts = salt.config.minion_config(str(folder / "minion"))
    opts["master_uri"] = f"tcp://127.0.0.1:{opts['master_port']}"
    opts["master_ip"] = "127.0.0.1"

    async def run() -> None:
        await Fleet(opts, folder, slow, fetches).run(count, slice(first, end))

    asyncio.run(run())


if __name__ == "__main__":
    main()
