"""What one statement per site costs over a network, on one machine: TLS, keys, one process per site.

    python benchmarks/statement_cost.py 10 50              # variables, sites
    python benchmarks/statement_cost.py 100 3 --delay 200  # milliseconds each way between a site and the coordinator

Prints when the coordinator says what, how long start and run took, their CPU time, and the bytes of a statement.
"""

import argparse
import asyncio
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import fedperi as fp
from fedperi.pki.keys import make_keys

COMMAND = (sys.executable, "-c", "from fedperi.cli import main; main()")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variables", type=int)
    parser.add_argument("sites", type=int)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--delay", type=float, default=0.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), chosen.variables, chosen.sites, chosen.samples, chosen.delay / 1000)


def measure(folder: Path, p: int, sites: int, samples: int, delay: float) -> None:
    names = [f"site{at:02d}" for at in range(sites)]
    sim = fp.simulate(p, clients=sites, samples=samples, seed=1)
    for name, table in zip(names, sim.sites, strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)
    make_keys(folder / "keys", hosts=["localhost"], sites=names)
    port = free_port()
    seen = delayed(port, delay) if delay else port
    begun = time.monotonic()
    processes = [start(folder, name, seen) for name in names]
    try:
        for name in names:  # up, and looking for a coordinator that is not there yet
            while b"trying again" not in (folder / f"{name}.log").read_bytes():
                time.sleep(0.1)
        up, clock = time.monotonic(), time.time()
        said, cpu = coordinate(folder, port)
        end = time.monotonic()
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for second, line in said:
        print(f"  {second:6.1f} s  {line}")
    files = sorted((folder / "out" / "statements").glob("*.fedperi"))
    connected = max(at for at, line in said if f"{sites} of {sites} sites connected" in line)
    stated = max(file.stat().st_mtime for file in files) - clock
    before = time.process_time()
    fp.MPERI(progress=False).fit(files)
    search = time.process_time() - before
    size = sum(file.stat().st_size for file in files) / sites
    print(f"p={p}, {sites} sites, {2000 * delay:g} ms round trip, {size / 1e3:.1f} kB per statement")
    print(f"  start-up: {up - begun:.1f} s until all sites were up, then {connected:.1f} s until all were connected")
    print(f"  run: {stated - connected:.1f} s until all statements were there, {end - up - stated:.1f} s to the result")
    print(f"  CPU: {cpu:.1f} s coordinator, {search:.1f} s of it search; {(children() - cpu) / sites:.1f} s a site")


def coordinate(folder: Path, port: int) -> tuple[list[tuple[float, str]], float]:
    """Run a coordinator; return what it said, and after how many seconds, and its CPU time."""
    before, begun = children(), time.monotonic()
    said = []
    process = subprocess.Popen(
        [*COMMAND, "coordinate", "--keys", "keys/coordinator", "--address", f"127.0.0.1:{port}", "--out", "out"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        said.append((time.monotonic() - begun, line.rstrip()))
    assert process.wait() == 0, said
    return said, children() - before


def children() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def delayed(target: int, delay: float) -> int:
    """Listen at a new port, and pass everything on, later; in a thread of this process."""
    port = free_port()

    async def later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(65536):
            loop.call_later(delay, writer.write, data)
        loop.call_later(delay, writer.close)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * delay)  # the handshake of TCP
        try:
            there, to = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(later(reader, to), later(there, writer), return_exceptions=True)

    async def serve() -> None:
        async with await asyncio.start_server(connect, "127.0.0.1", port) as server:
            await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    return port


def start(folder: Path, name: str, port: int) -> "subprocess.Popen[bytes]":
    keys = f"keys/sites/{name}"
    options = ["--coordinator", f"localhost:{port}", "--ca", f"{keys}/ca.pem", "--key", f"{keys}/{name}.key"]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [*COMMAND, "site", f"{name}.csv", "--channel", "moments", "--store", f"store-{name}", *options],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


if __name__ == "__main__":
    main()
