"""Flags for the compiler of the C loops. They depend on the compiler, which pyproject.toml cannot express."""

from pathlib import Path
from runpy import run_path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MSVC = ["/O2", "/std:c11", "/fp:precise"]
# No debug information: it contains the build folder, so two builds would differ.
OTHERS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-g0"]


class BuildLoops(build_ext):
    """Compile without fused operations, so that results do not depend on the processor."""

    def build_extension(self, ext: Extension) -> None:
        """Choose the flags for the compiler."""
        folder = Path(ext.sources[0]).parent
        number = run_path(str(folder / "__init__.py"))["version_of"](folder)  # checked at import
        ext.define_macros = [*ext.define_macros, ("SOURCES", str(number))]
        ext.extra_compile_args = MSVC if self.compiler.compiler_type == "msvc" else OTHERS
        super().build_extension(ext)


setup(cmdclass={"build_ext": BuildLoops})
