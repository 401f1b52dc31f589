"""examples.py ROOT: types the EXAMPLES of each manual page, the fences of its DESCRIPTION, and the commands of README.md, into a shell, in a
directory that has what they speak of: programs, recordings, jobs, a budget. Each tidemark must end well. What
is not here (docker, a hundred ranks, a browser) is played by scripts; names and times are made to fit."""
import glob, os, re, shutil, subprocess, sys, time

ROOT = sys.argv[1]
HERE = os.getcwd()
PROGRAMS = "solver tests program old new service parser route server app phases".split()

# ---- The stage -----------------------------------------------------------------------------

MESH = r"""
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>
#include <tidemark/tidemark.h>
extern "C" char *parse(const char *text);
struct Mesh {
    std::vector<std::string *> cells;
    __attribute__((noinline)) void refine(int count) { for (int i = 0; i < count; i++) cells.push_back(new std::string(100, 'x')); }
};
namespace cache {
__attribute__((noinline)) char *fill(int bytes) { return (char *)memset(malloc(bytes), 1, bytes); }
}
struct Cache {
    std::vector<char *> entries;
    __attribute__((noinline)) void insert() { entries.push_back(cache::fill(5000)); }
};
int main()
{
    alarm(250); /* whoever is forgotten */
    Mesh mesh;
    Cache cache;
    do {
        tidemark_mark("matrix ready");
        tidemark_region_begin("assemble");
        tidemark_region_begin("parallel");
        for (int step = 0; step < 20; step++) {
            mesh.refine(200);
            cache.insert();
            for (int i = 0; i < 100; i++)
                free(parse("input"));
            usleep(3000);
        }
        tidemark_region_end("parallel");
        tidemark_region_end("assemble");
        tidemark_mark("solved");
        tidemark_mark("end");
        for (; getenv("SERVES") && mesh.cells.size() > 4000; mesh.cells.pop_back())
            delete mesh.cells.back();
    } while (getenv("SERVES"));
    return 0;
}
"""
PARSER = """#include <string.h>\nchar *parse(const char *text) { return strdup(text); }\n"""

PLAYED = {
    # each tidemark that fails is noted, wherever it stands in a pipeline; what would wait for people does not
    "tidemark": r"""
case ${1-} in
serve)
    coproc SERVER { exec "$REAL" serve --no-open "${@:2}"; }
    read -r url <&"${SERVER[0]}" || echo "tidemark $*: no URL" >>"$WRONG"
    echo "$url"
    kill -INT $SERVER_PID; wait $SERVER_PID
    exit 0 ;;
top) until [ $# = 1 ] || [ -e "$2" ]; do /bin/sleep 0.05; done; set -- "$@" --plain -n 1 ;;
ps) [[ $* != *--watch* ]] || set -- "$@" --every 100ms --for 100ms ;;
attach) [[ $* == *--for* || $* == *--detach* ]] || set -- attach --for=100ms "${@:2}" ;;
doctor) "$REAL" "$@"; exit 0 ;;
replay) [[ $* != *--under* ]] || set -- "$@" --rounds 1 ;;
esac
"$REAL" "$@" 2> >(tee "$WRONG.err" >&2)
status=$?
[ "${1-}" != viewer ] || ! grep -q 'built without a viewer' "$WRONG.err" || exit 0
[ $status = 0 ] || [ $status = 141 ] || echo "tidemark $*: status $status: $(tail -n 2 "$WRONG.err")" >>"$WRONG"
exit $status""",
    "mpirun": r"""
shift 2
for word; do [[ $word != --job=* ]] || rm -rf "${word#--job=}"; done
for rank in 0 1; do PMI_SIZE=2 PMI_RANK=$rank "$@" >/dev/null & done
wait""",
    "pidof": 'echo "$PROCESS"',
    "sleep": "exec /bin/sleep 0.05",
    "sudo": 'exec "$@"',
    "flamegraph.pl": "cat >/dev/null",
}
for nothing in "docker chroot go kcachegrind firefox".split():
    PLAYED[nothing] = ":"


def shell(script, where, **more):
    return subprocess.run(["bash", "-c", script], cwd=where, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **more})


def make_stage(where):
    os.makedirs(where)
    for name, text in ("mesh.cpp", MESH), ("parser.c", PARSER), ("script.py", "print(len([str(i) for i in range(1000)]))\n"), ("script.pl", "print scalar(my @list = map { qq(text $_) } 1 .. 1000), qq(\\n);\n"), ("script.php", "<?php\nprint(count(array_map(fn($i) => \"text $i\", range(1, 1000))) . \"\\n\");\n"), ("script.rb", "puts((1..1000).map { |i| %(text #{i}) }.size)\n"), ("script.lua", "local t = {} for i = 1, 1000 do t[i] = 'text ' .. i end print(#t)\n"), ("Makefile", "all:\n\tcc -c parser.c -o made.o\n"):
        with open(f"{where}/{name}", "w") as file:
            file.write(text)
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/heavy.cpp"), where)
    done = shell(rf"""set -e
cc -g -O1 -c parser.c
g++ -g -O1 -fno-builtin -I '{ROOT}/include' mesh.cpp parser.o -o solver '{os.path.dirname(os.environ["API"])}/libtidemark-api.a'
for name in {" ".join(PROGRAMS[1:])}; do ln solver $name; done
touch input.dat input.xml chip.gds big.mesh
ln -s '{ROOT}/examples' examples
tidemark record -q --trace --held -o run.tmk ./solver
for name in before after old new main solver; do cp run.tmk $name.tmk; done
cp run.tmt solver.tmt
cp run.tmk tidemark.solver.1234.tmk
for i in 1 2 3; do cp run.tmk old$i.tmk; cp run.tmk new$i.tmk; done
for job in runs run16 run32 run64 runs16 runs32 runs64; do
    for rank in 0 1; do PMI_SIZE=2 PMI_RANK=$rank tidemark record -q --trace --job=$job ./app; done
done
tidemark check run.tmk --budget budget.toml --update >/dev/null
tidemark export --to heaptrack -o heaptrack.server.1234.zst run.tmk
tidemark export --to massif -o massif.out.1234 run.tmk
printf 'heap_v2/1\n  t*: 2: 200 [4: 400]\n@ 0x1000 0x2000\n  t*: 2: 200 [4: 400]\n\nMAPPED_LIBRARIES:\n' >heap.1234.0.f.heap
for name in old new; do python3 -X tracemalloc -c "import json, tracemalloc; tracemalloc.take_snapshot().dump('$name.pickle')"; done
mkdir -p profiles tm srv/root/opt && cp run.tmk profiles/service.tmk
""", where)
    if done.returncode:
        sys.exit("the stage: " + done.stdout + done.stderr)


# ---- What is typed -------------------------------------------------------------------------

FITS = [(r"(?<![.\w])30s\b", "30ms"), (r"\b12\.5s\b", "12ms"), (r"\b12\.501s\b", "13ms"), (r"\b[15]min\b", "100ms"), (r"\b24h\b", "300ms"),
        (r"60%(?= --to peak)", "1%"),  # a busy machine is long about its end
        (r"/srv/root", "srv/root"), (r"-O2 -c examples/heavy\.cpp", "-fsyntax-only heavy.cpp"),
        (r"examples/heavy\.cpp", "parser.c"), (r"(?<=report )DIR\b", "."),
        # README's words for what the user has
        (r"FILE\|JOBDIR\|FILE\.tmt|FILE\|PID|FILE…|\bFILE\b", "run.tmk"), (r"'SELECT …'", "'SELECT 1'"), (r"\bOLD\b", "old.tmk"),
        (r"\bNEW\b", "new.tmk"), (r"\bDIR$|\bDIR(?= +#)", "bundled"),
        (r"\bPID\b|\b4711\b|(?<=maps )1234\b", '"$PROCESS"')]


def fitted(text):
    for pattern, to in FITS:
        text = re.sub(pattern, to, text, flags=re.M)
    return text


def of_manual(name):
    """The fences of DESCRIPTION, and the blocks of EXAMPLES: indented paragraphs, lines of which end in ++, and fences."""
    with open(name, encoding="utf-8") as file:
        page = file.read()
    section = re.search(r"^# EXAMPLES?\n(.*?)(?=^# |\Z)", page, re.M | re.S)
    first = re.search(r"^# DESCRIPTION\n(.*?)(?=^# |\Z)", page, re.M | re.S)
    text = "".join(fence for fence in re.findall(r"^```\n.*?^```$\n", first[1] if first else "", re.M | re.S) if re.search(r"^(mpirun .*)?tidemark ", fence, re.M)) + (section[1] if section else "")
    for fence, indented in re.findall(r"^```\n(.*?)^```$|^\t(.*?)(?=\n\n|\n*\Z)", text, re.M | re.S):
        if fence:
            yield fence.replace("\\\\", "\\")
        else:
            yield re.sub(r"\\(.)", r"\1", re.sub(r"\+\+$", "", indented, flags=re.M))


def of_readme():
    with open(f"{ROOT}/README.md", encoding="utf-8") as file:
        for block in re.findall(r"^```\n(.*?)^```$", file.read(), re.M | re.S):
            lines = [re.sub(r"^\$ ", "", line) for line in block.splitlines()]
            yield "\n".join(line for line in lines if re.match(r"(mpirun .*)?tidemark [a-z]|tidemark-", line))


def missing(script):
    """What the machine lacks for a block, or None."""
    for program in re.findall(r"\b(gnuplot|jq|sqlite3|callgrind_annotate|dot|make)\b", script):
        if not shutil.which(program):
            return program
    libraries = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    for library in re.findall(r"\b(jemalloc|tcmalloc|mimalloc)\b", script if "--under" in script else ""):
        if f"lib{library}" not in libraries:
            return library
    return os.environ["ATTACH"] if "tidemark attach" in script and os.environ["ATTACH"] else None


wrong = run = 0


def type_block(page, block, where, process):
    global wrong, run
    script = fitted(re.sub(r"^\$ ", "", block, flags=re.M))
    if "tidemark" not in script or "tidemark_add_memory_test" in script or re.search(r"^mpirun .*tidemark-mpi", script, re.M) or missing(script):
        return
    notes = f"{HERE}/wrong"
    open(notes, "w").close()
    done = shell(script + "\nwait", where, PATH=f"{HERE}/bin:{os.environ['PATH']}", WRONG=notes, PROCESS=str(process),
                 REAL=shutil.which("tidemark"))
    run += len(re.findall(r"\btidemark ", script))
    with open(notes) as file:
        said = file.read()
    if said or done.returncode not in (0, 141):
        wrong += 1
        print(f"{page}:\n{script}\nstatus {done.returncode}: {said}{done.stderr[-1000:]}")


def serve(where, recorded):
    """A program that runs already: its parent, or itself, and its process id."""
    server = subprocess.Popen([*(["tidemark", "record", "-q", "-o", "live.tmk"] if recorded else []), "./server"], cwd=where,
                              env={**os.environ, "SERVES": "1"}, stdin=subprocess.DEVNULL)
    while recorded and server.poll() is None:
        children = subprocess.run(["pgrep", "-P", str(server.pid), "server"], capture_output=True, text=True).stdout.split()
        if children and os.path.exists(f"{where}/live.tmk"):
            return server, int(children[0])
        time.sleep(0.02)
    return server, server.pid


def main():
    make_stage(f"{HERE}/stage")
    os.mkdir(f"{HERE}/bin")
    for name, script in PLAYED.items():
        with open(f"{HERE}/bin/{name}", "w") as file:
            file.write("#!/bin/bash\n" + script + "\n")
        os.chmod(f"{HERE}/bin/{name}", 0o755)
    pages = [(os.path.relpath(page, ROOT), list(of_manual(page))) for page in sorted(glob.glob(f"{ROOT}/man/*.scd"))]
    pages += [("README.md", [block]) for block in of_readme()]
    for number, (page, blocks) in enumerate(pages):
        where = f"{HERE}/{number}"
        shutil.copytree(f"{HERE}/stage", where, symlinks=True)
        server, process = None, 0
        if any(re.search(r"pidof|PROCESS", fitted(block)) for block in blocks):
            server, process = serve(where, not any("tidemark attach" in block for block in blocks))
        for block in blocks:
            type_block(page, block, where, process)
        if server:
            subprocess.run(["kill", str(process)])
            server.wait()
        shutil.rmtree(where)
    if run < 100:
        print(f"only {run} commands were found")
    print("the examples run" if not wrong else f"{wrong} examples do not run")


main()
