"""Flags for the compiler of the loops in C. Compilers take different ones, which pyproject.toml cannot say."""

from pathlib import Path
from zlib import crc32

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MSVC = ["/O2", "/std:c11", "/fp:precise"]
# No debug information: it names the folder of the build, so that two builds would differ.
OTHERS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-g0"]


class BuildLoops(build_ext):
    """Compile without fused operations, so that results do not depend on the processor."""

    def build_extension(self, ext: Extension) -> None:
        """Choose the flags once the compiler is known."""
        ext.extra_compile_args = MSVC if self.compiler.compiler_type == "msvc" else OTHERS
        # Which sources these are: `fedperi.scores._kernel` computes the same number.
        sources = sorted(Path(ext.sources[0]).parent.glob("*.[ch]"))
        number = crc32(b"".join(one.read_bytes() for one in sources)) & 0x7FFFFFFF
        ext.define_macros = [*ext.define_macros, ("SOURCES", str(number))]
        super().build_extension(ext)


setup(cmdclass={"build_ext": BuildLoops})
