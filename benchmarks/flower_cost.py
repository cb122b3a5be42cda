"""What a federation over the network costs on one machine: TLS, keys, one process per site.

    python benchmarks/flower_cost.py 20 3                # variables, sites
    python benchmarks/flower_cost.py 20 3 --insecure     # without TLS and keys, on loopback
    python benchmarks/flower_cost.py 8 3 --releases      # sites answer from release files

Prints seconds and bytes of every exchange, and whether the result is bit for bit that of one process.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fedperi as fp
from fedperi.pki.keys import make_keys
from fedperi.privacy import release_table, save_release
from fedperi.transports.flower.exchange import Limits
from fedperi.transports.flower.link import Certificates, superlink
from fedperi.transports.flower.live.site_keys import SiteKeys
from fedperi.transports.flower.transport import FlowerTransport


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variables", type=int)
    parser.add_argument("sites", type=int)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--releases", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), chosen.variables, chosen.sites, chosen.samples, chosen.insecure, chosen.releases)


def measure(folder: Path, p: int, sites: int, samples: int, insecure: bool, releases: bool) -> None:
    names = [f"site{at:02d}" for at in range(sites)]
    sim = fp.simulate(p, clients=sites, samples=samples, seed=1)
    for name, table in zip(names, sim.sites, strict=True):
        if releases:
            privacy = fp.Privacy(2.0, bounds=dict.fromkeys(table.columns, (-10, 10)), store=folder / "ledgers")
            save_release(release_table(table, privacy, name=name)[0], folder / name)
        else:
            table.to_csv(folder / name, index=False)
    begun = time.monotonic()
    direct = fp.IPERI(progress=False).fit({name: folder / name for name in names})
    alone = time.monotonic() - begun
    make_keys(folder / "keys", hosts=["localhost"], sites=names)
    place = folder / "keys/coordinator"
    certificates = Certificates(place / "ca.pem", place / "server.pem", place / "server.key")
    keys = {} if insecure else SiteKeys(place / "sites")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with superlink("127.0.0.1", port, None if insecure else certificates, keys) as link, link.grid() as grid:
            processes += [start(folder, name, port, insecure) for name in names]
            by_key = {key: name for name, key in keys.items()} or None
            transport = FlowerTransport(grid, sites=sites, keys=by_key, limits=Limits(900, 900), note=print)
            begun = time.monotonic()
            result = fp.IPERI(progress=False).fit(transport)
            seconds = time.monotonic() - begun
            traffic = transport.traffic
            equal = result.graph == direct.graph and result.regrets == direct.regrets
            print(
                f"p={p}, {sites} sites{', insecure' * insecure}{', releases' * releases}: {traffic.rounds} rounds in "
                f"{len(traffic.seconds)} round trips, {sum(traffic.seconds):.1f} s in exchanges "
                f"{[round(s, 1) for s in traffic.seconds]} (hello, open, rounds), {seconds:.1f} s with the "
                f"start of the sites, {alone:.1f} s in one process; {traffic.sent / 1e6:.2f} MB out, "
                f"{traffic.received / 1e6:.2f} MB in; the same result: {equal}"
            )
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(120)


def start(folder: Path, name: str, port: int, insecure: bool) -> subprocess.Popen[bytes]:
    key = folder / "keys/sites" / name
    command = [
        "site",
        folder / name,
        "--channel",
        "regrets",
        "--name",
        name,
        "--coordinator",
        f"localhost:{port}",
        "--store",
        folder / "store",
    ]
    command += ["--insecure"] if insecure else ["--ca", key / "ca.pem", "--key", key / f"{name}.key"]
    return subprocess.Popen(
        [sys.executable, "-c", "from fedperi.cli import main; main()", *map(str, command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
