"""Everything that `run` installs, in bench/peers/.cache and bench/peers/target, and which versions these are.

An engine that cannot be installed is left out, with the reason; the tables say so. By itself (`python3 install.py`) it makes only the
Python environment in which figures are computed.
"""
import hashlib
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
PYTHON = CACHE / "venv" / "bin" / "python"
ODE = CACHE / "ode" / "runner"
DEBIAN = ["libode-dev", "libode8", "libccd-dev", "libccd2"]
# one thread for everybody
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
CRATES = {"linkwork": "peer-linkwork", "rapier-f64": "peer-rapier64", "rapier-f32": "peer-rapier32"}
LOCKED = {"rapier-f64": "rapier3d-f64", "rapier-f32": "rapier3d"}
WHEELS = {"mujoco": "mujoco", "pinocchio": "pin"}
RUST = ["neutral/src/protocol.rs", "neutral/src/scene.rs", "Cargo.toml", "../../.cargo/config.toml"]
# what the figures of an engine depend on, besides its version, the scene and the setting
SOURCES = {
    "linkwork": [],  # the whole program is
    "rapier-f64": [*RUST, "rapier/src/main.rs", "rapier/Cargo.toml"],
    "rapier-f32": [*RUST, "rapier/src/main.rs", "rapier32/Cargo.toml"],
    "mujoco": ["mujoco_runner.py", "protocol.py"],
    "ode": ["ode/runner.cpp"],
    "pinocchio": ["pinocchio_runner.py", "protocol.py"],
}


class Missing(Exception):
    """An engine cannot be had here; says why."""


def say(text, end="\n"):
    print(text, end=end, flush=True)


def command(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, env=ENVIRONMENT, **more)


def tried(what, *words, **more):
    """Runs a command that installs something; if it fails, the last thing it said is the reason."""
    try:
        return command(*words, **{"capture_output": True, "text": True} | more)
    except FileNotFoundError:
        raise Missing(f"{what}: {words[0]} not found")
    except subprocess.CalledProcessError as problem:
        said = (problem.stderr or problem.stdout or "").strip().splitlines()
        raise Missing(f"{what}: {said[-1] if said else f'{words[0]} failed with exit code {problem.returncode}'}")


def program(engine):
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / "release"
    return target / CRATES[engine]


def prepare(engines):
    """Installs what is missing. Gives the engines that can be run, and for the others why they cannot."""
    needed = {"linkwork": cargo, "rapier-f64": cargo, "rapier-f32": cargo, "mujoco": wheel, "pinocchio": wheel, "ode": ode}
    try:
        python()
    except Missing as why:
        sys.exit(f"run: the figures are computed with NumPy and SciPy, which could not be installed: {why}")
    missing = {}
    for engine in engines:
        try:
            needed[engine](engine)
        except Missing as why:
            if engine == "linkwork":
                sys.exit(f"run: Linkwork could not be built: {why}")
            say(f"{engine} is left out: {why}")
            missing[engine] = str(why)
    return [engine for engine in engines if engine not in missing], missing


def cargo(engine):
    say(f"building the runner of {engine}" + ("" if program(engine).exists() else " (minutes, the first time)"))
    tried("cargo build", "cargo", "build", "--release", "--locked", "--quiet", "-p", CRATES[engine], cwd=HERE)


def python():
    CACHE.mkdir(exist_ok=True)
    if not PYTHON.exists():
        say("making a Python environment")
        tried("venv", sys.executable, "-m", "venv", CACHE / "venv")
    for package in ("numpy", "scipy"):
        install(package)


def install(package):
    done = CACHE / "venv" / f"installed-{package}"
    if not done.exists():
        say(f"installing {package}")
        tried("pip install", PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
        done.touch()


def wheel(engine):
    install(WHEELS[engine])


def ode(_):
    """Debian's packages, unpacked and not installed; the runner is compiled against them."""
    source, root = HERE / "ode" / "runner.cpp", CACHE / "ode"
    if ODE.exists() and ODE.stat().st_mtime > source.stat().st_mtime:
        return
    root.mkdir(exist_ok=True)
    unpacked = root / "unpacked"
    if not unpacked.exists():
        say("installing ODE")
        tried("apt-get download", "apt-get", "download", "-qq", *DEBIAN, cwd=root)
        for package in sorted(root.glob("*.deb")):
            tried("dpkg", "dpkg", "-x", package, root)
        unpacked.touch()
    library = next(root.glob("usr/lib/**/libode.so"), None)
    if library is None:
        raise Missing("libode.so is not in the Debian packages")
    say("building the runner of ode")
    tried("g++", "g++", "-O2", "-std=c++17", "-march=x86-64-v3", "-I", root / "usr" / "include", source, "-o", ODE,
          "-L", library.parent, "-lode", "-lccd", "-Wl,--disable-new-dtags",
          f"-Wl,-rpath,$ORIGIN/{library.parent.relative_to(root)}")


def version(engine):
    """Of what is installed here, read and not known by heart."""
    if engine in LOCKED:
        return locked((HERE / "Cargo.lock").read_text(), LOCKED[engine])
    if engine in WHEELS:
        wanted = f"import importlib.metadata as m; print(m.version('{WHEELS[engine]}'))"
        return tried(engine, PYTHON, "-c", wanted).stdout.strip()
    if engine == "ode":
        described = next((CACHE / "ode").glob("usr/**/pkgconfig/ode.pc"), None)
        package = next((CACHE / "ode").glob("libode-dev_*.deb"), None)
        if described is None or package is None:
            raise Missing("ODE is not installed")
        plain = next(line.split(":")[1].strip() for line in described.read_text().splitlines() if line.startswith("Version:"))
        return f"{plain} (Debian {tried('dpkg-deb', 'dpkg-deb', '-f', package, 'Version').stdout.strip()})"
    return linkwork()


def versions(engines):
    """Of those that are installed."""
    found = {}
    for engine in engines:
        try:
            found[engine] = version(engine)
        except Missing:
            pass
    return found


def locked(text, crate):
    """The version of a crate in a Cargo.lock."""
    found = re.search(rf'name = "{re.escape(crate)}"\nversion = "([^"]+)"', text)
    if not found:
        raise Missing(f"{crate} is not in Cargo.lock")
    return found[1]


# what Linkwork is built from: a change of docs makes no other version
BUILT_FROM = ["crates", "Cargo.toml", "Cargo.lock", ".cargo"]


def linkwork():
    """The last commit that changed what it is built from, and whether that was changed since."""
    asked = dict(cwd=HERE.parents[1], capture_output=True, text=True)
    try:
        commit = command("git", "log", "-1", "--format=%h", "--", *BUILT_FROM, **asked).stdout.strip()
        changed = command("git", "status", "--porcelain", "--", *BUILT_FROM, **asked).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "this build"
    return (commit or "this build") + ("-dirty" if changed else "")


def told(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True).stdout.split()
    except OSError:
        return []


def machine():
    model = platform.machine()
    try:
        model = next(line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return dict(processor=model, cores=os.cpu_count(), system=platform.system(),
                rustc="".join(told("rustc", "--version")[1:2]), gcc="".join(told("g++", "-dumpfullversion")))


def fingerprint(engine, versions, machine, parts):
    """A result is of this engine in this version, by this runner, on this machine, and of these parts: measured again if any changes."""
    compiler = {"linkwork": machine["rustc"], "ode": machine["gcc"]}.get(engine, machine["rustc"] if engine in LOCKED else "")
    texts = [engine, "" if engine == "linkwork" else versions[engine], machine["processor"], str(machine["cores"]), compiler]
    whole = [text.encode() for text in texts] + [(HERE / source).read_bytes() for source in SOURCES[engine]]
    whole += [program("linkwork").read_bytes()] if engine == "linkwork" else []
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in whole + list(parts))).hexdigest()


if __name__ == "__main__":
    try:
        python()
    except Missing as why:
        sys.exit(f"install: {why}")
