-- Lmod. Not run: see README.md.
local prefix = "/opt/tidemark"

whatis("Tidemark: where a program's memory goes")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("LIBRARY_PATH", pathJoin(prefix, "lib"))
prepend_path("CPATH", pathJoin(prefix, "include"))
