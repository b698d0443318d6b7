"""Fetches three Debian packages and lays their manuals out under documents/.

    python fetch.py

Needs a Debian or Ubuntu system with apt-get and dpkg-deb. Every package is pinned to one version and checked
against its SHA-256. Where apt no longer offers that version, the file is taken from the pool, and failing that
from snapshot.debian.org. Nothing is installed.
"""

import gzip
import hashlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MIRRORS = (
    "https://deb.debian.org/debian/",
    "https://security.debian.org/debian-security/",
    "https://snapshot.debian.org/archive/debian/20261101T000000Z/",
    "https://snapshot.debian.org/archive/debian-security/20261101T000000Z/",
)
HTML = "usr/share/doc/restic/html"
PAGES = (
    "020_installation 030_preparing_a_new_repo 040_backup 045_working_with_repos 047_tuning_backup_parameters 050_restore "
    "060_forget 070_encryption 075_scripting 080_examples 090_participating"
)
SOURCES = "REST_backend cache design faq manual_rest"
BTRBK = "usr/share/doc/btrbk"
CHRONY = "usr/share/doc/chrony"

# package, architecture, version, path in the pool, SHA-256, and what is taken from where to where
PACKAGES = (
    (
        "restic",
        "amd64",
        "0.14.0-1+b5",
        "pool/main/r/restic/restic_0.14.0-1+b5_amd64.deb",
        "9d7e8c210736f3f15ed7cf425ab56aa5259b07d8422b958494bfd4359b5024d1",
        {f"{HTML}/{name}.html": f"restic/{name}.html" for name in PAGES.split()}
        | {f"{HTML}/_sources/{name}.rst.txt": f"restic/{name}.rst" for name in SOURCES.split()},
    ),
    (
        "btrbk",
        "all",
        "0.32.5-1",
        "pool/main/b/btrbk/btrbk_0.32.5-1_all.deb",
        "877795bebaa3db57ee21221f7ee53e19965cf73be4028b987d881f9dd9085bd2",
        {
            f"{BTRBK}/README.md.gz": "btrbk/README.md",
            f"{BTRBK}/FAQ.md.gz": "btrbk/FAQ.md",
            f"{BTRBK}/upgrade_to_v0.23.0.md": "btrbk/upgrade_to_v0.23.0.md",
            f"{BTRBK}/NEWS.Debian.gz": "btrbk/NEWS.Debian",
            f"{BTRBK}/changelog.gz": "btrbk/changelog",
        },
    ),
    (
        "chrony",
        "amd64",
        "4.3-2+deb12u3",
        "pool/main/c/chrony/chrony_4.3-2+deb12u3_amd64.deb",
        "0b215bde3a8b31d1da5a5afbf24a16dce65701f56f3f8b789cb18dfb664b4a61",
        {
            f"{CHRONY}/FAQ.gz": "chrony/FAQ",
            f"{CHRONY}/NEWS.gz": "chrony/NEWS",
            f"{CHRONY}/README.gz": "chrony/README",
            f"{CHRONY}/README.Debian": "chrony/README.Debian",
            f"{CHRONY}/examples/chrony.conf.example1": "chrony/chrony.conf.example1",
            f"{CHRONY}/examples/chrony.conf.example2": "chrony/chrony.conf.example2",
        },
    ),
)


def is_right(file: Path, checksum: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == checksum


def download(package: str, architecture: str, version: str, pool: str, checksum: str, folder: Path) -> Path:
    wanted = f"{package}={version}" if architecture == "all" else f"{package}:{architecture}={version}"
    if shutil.which("apt-get"):
        subprocess.run(["apt-get", "download", "-qq", wanted], cwd=folder, check=False, capture_output=True)
        for file in folder.glob(f"{package}_*.deb"):
            if is_right(file, checksum):
                return file
    target = folder / "pool.deb"
    tried = []
    for mirror in MIRRORS:
        address = mirror + urllib.parse.quote(pool)
        try:
            with urllib.request.urlopen(address, timeout=60) as reply, target.open("wb") as out:  # noqa: S310 - https, above
                shutil.copyfileobj(reply, out)
        except OSError as error:
            tried.append(f"{address}: {error}")
            continue
        if is_right(target, checksum):
            return target
        tried.append(f"{address}: another SHA-256")
    sys.exit(f"{package} {version} could not be downloaded:\n  " + "\n  ".join(tried))


def lay_out(root: Path, files: dict[str, str], documents: Path) -> None:
    for source, target in files.items():
        content = (root / source).read_bytes()
        if source.endswith(".gz"):
            content = gzip.decompress(content)
        place = documents / target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def main() -> None:
    documents = FOLDER / "documents"
    with tempfile.TemporaryDirectory() as name:
        fresh = Path(name) / "documents"
        for package, architecture, version, pool, checksum, files in PACKAGES:
            folder = Path(name) / package
            folder.mkdir()
            archive = download(package, architecture, version, pool, checksum, folder)
            root = folder / "root"
            subprocess.run(["dpkg-deb", "-x", str(archive), str(root)], check=True)
            lay_out(root, files, fresh)
            print(f"{package} {version}: {len(files)} files")
        if documents.exists():
            shutil.rmtree(documents)
        shutil.copytree(fresh, documents)


if __name__ == "__main__":
    main()
