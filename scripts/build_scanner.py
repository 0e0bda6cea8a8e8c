"""Compiles scanner, schemas and declarations when evalstream is installed or a wheel is built.

It is a hook of hatchling. A schema becomes Python code that accepts sound rows or aggregates, as an
engine that explains what is wrong takes longer to load. What the pages of rules declare becomes one
table, as a start would have to read them all.

The compiler is that of the environment variable CC, else the one that is there, else Zig's, which
pip gets from the package index for the time of the build. Where none works, or where
EVALSTREAM_PURE=1 asks for it, evalstream is built without the scanner: it then checks the same,
more slowly.
"""

import importlib.util
import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("evalstream", "parsing", "native")
ACCEPTORS = Path("evalstream", "parsing", "acceptors")
RULES = Path("evalstream", "rules")
SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
LIBRARY = FOLDER / f"libscanner{SUFFIX}"
DIGEST = FOLDER / "libscanner.digest"
PURE = "EVALSTREAM_PURE"
FLAGS = ("-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-sanitize=undefined")


class ScannerHook(BuildHookInterface[Any]):
    """Adds the compiled scanner to wheels, and to a checkout that is installed editable."""

    def dependencies(self) -> list[str]:
        """Ask for a compiler if there is none."""
        return [] if is_pure() or compiler_here() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the scanner before anything else is built."""
        del version
        root = Path(self.root)
        write_acceptors(root)
        table = write_declarations(root)
        build_data["artifacts"] += [f"/{ACCEPTORS.as_posix()}/*.py", f"/{RULES.as_posix()}/{table}"]
        if is_pure():
            return
        reason = compile_scanner(root)
        if reason:
            self.app.display_warning(f"evalstream is built without its scanner: {reason}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"] += [f"/{path.as_posix()}" for path in (LIBRARY, DIGEST)]


def write_acceptors(root: Path) -> None:
    """Write the code that accepts what the schemas of rows and aggregates allow."""
    code = runpy.run_path(str(root / ACCEPTORS.parent / "acceptor_code.py"))
    code["write_acceptors"](root / "schemas" / "eee", root / ACCEPTORS)


def write_declarations(root: Path) -> str:
    """Write the table of what the pages of rules declare; return the name of its file."""
    code = runpy.run_path(str(root / RULES / "front_matter.py"))
    code["write_table"](root / RULES.parent)
    name: str = code["TABLE"]
    return f"{name}.py"


def is_pure() -> bool:
    """Tell whether a build without the scanner is asked for."""
    return os.environ.get(PURE, "") not in ("", "0")


def architectures() -> list[str]:
    """Return the flags for the processors of a build for macOS, which ARCHFLAGS names."""
    return shlex.split(os.environ.get("ARCHFLAGS", "")) if sys.platform == "darwin" else []


def compiler_here() -> list[str]:
    """Return the command of the compiler that is there, empty for none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    names = () if sys.platform == "win32" else ("cc", "gcc", "clang")
    return next(([name] for name in names if shutil.which(name)), [])


def compile_scanner(root: Path) -> str | None:
    """Compile the scanner into its folder; return why that failed, if it did."""
    command = compiler_here()
    if not command and importlib.util.find_spec("ziglang") is not None:
        # Left to itself it compiles for the very processor that is there.
        command = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    if not command:
        return "there is no C compiler"
    library = root / LIBRARY
    sources = sorted(str(path) for path in (root / FOLDER).glob("*.c"))
    digest = runpy.run_path(str(root / FOLDER / "sources.py"))["sources_digest"](root / FOLDER)
    # Whoever has the old one open keeps it.
    fresh = library.with_name(f".{library.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(prefix="evalstream-") as cache:
            subprocess.run(
                [
                    *command,
                    *FLAGS,
                    *architectures(),
                    f'-DSOURCES_DIGEST="{digest}"',
                    "-o",
                    str(fresh),
                    *sources,
                ],
                check=True,
                capture_output=True,
                env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache},
            )
        fresh.replace(library)
        (root / DIGEST).write_text(f"{digest}\n", encoding="ascii")
    except (OSError, subprocess.CalledProcessError) as error:
        library.unlink(missing_ok=True)
        said = getattr(error, "stderr", None) or str(error).encode()
        return f"{shlex.join(command)} failed: {said.decode(errors='replace').strip()}"
    finally:
        fresh.unlink(missing_ok=True)
    return None
