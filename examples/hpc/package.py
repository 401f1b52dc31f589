# Spack. Not run: see README.md.
from spack.package import *


class Tidemark(CMakePackage):
    """Shows where a program's memory goes: who asked for it, when, and how much at the peak."""

    license("MIT")

    version("main", branch="main")

    variant("mpi", default=True, description="tidemark-mpi, which reads large jobs on many processes")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("elfutils")
    depends_on("libmicrohttpd")
    depends_on("lz4")
    depends_on("ncurses")
    depends_on("sqlite")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        return [self.define("BUILD_TESTING", False)]
