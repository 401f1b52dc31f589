#!/usr/bin/env python3
"""Fails every system call of Tidemark's in turn, and kills the process there (`make check-faults`).

faults.py [--whole] [--part K/N] [--minutes N] [--jobs N] [--scenario NAME] [--only TEXT] [--every N [--from M]] BIN LIB TOOLS

A scenario is run once to list the places from which the recorder, the collector and attach call the system
(inject.c says what a place is). Then it is run for each place and each error that the call can have. After each run
the program has written what it always writes and ended as it always ends, every file under a final name opens, nothing
else lies beside, no process is left, and a profile that is missing has a sentence. Without --whole there is one
place for each call and role, and one error for each place. With it, each place has its first error, then a kill, and
then the first place of each chain of functions all other errors, at the first, the middle and the last time. It ends after
--minutes, and says how many places it has come to. A place is always in the same of N parts, whatever a run finds first:
the parts 1/N to N/N of one build are the whole, in several sittings.
"""
import argparse
import bisect
import collections
import concurrent.futures
import errno
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

SECONDS = 60
LIMIT = 4096  # bytes of stderr that are shown
CUT_SHORT = "^tidemark replay: the trace is cut off before its first whole block of events[^\n]*\n$"

# ---- Which errors a call can have -----------------------------------------------------------------------------

CALLS = {}
for header in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"):
    if not CALLS and os.path.exists(header):
        for found in re.finditer(r"#define __NR_(\w+) (\d+)", pathlib.Path(header).read_text()):
            CALLS[int(found[2])] = found[1]

ERRORS = {
    "read": "EIO EINTR", "pread64": "EIO", "write": "ENOSPC EIO EINTR", "pwrite64": "ENOSPC EIO",
    "openat": "EMFILE ENOMEM EACCES EIO EINTR", "close": "", "mmap": "ENOMEM EPERM", "mremap": "ENOMEM",
    "munmap": "ENOMEM", "madvise": "EAGAIN ENOSYS", "mprotect": "ENOMEM", "brk": "ENOMEM",
    "futex": "EINTR EAGAIN", "socket": "EMFILE ENOMEM EACCES", "bind": "EACCES ENOMEM", "listen": "EACCES",
    "accept4": "EMFILE EINTR ENOMEM", "connect": "EACCES EAGAIN EINTR", "setsockopt": "ENOMEM",
    "getsockopt": "ENOMEM", "sendto": "ENOMEM EINTR EPERM", "sendmsg": "ENOMEM EINTR EPERM",
    "recvfrom": "ENOMEM EINTR EPERM", "recvmsg": "ENOMEM EINTR EPERM", "clone": "EAGAIN ENOMEM EPERM",
    "clone3": "ENOSYS EAGAIN ENOMEM", "vfork": "EAGAIN", "execve": "ENOMEM EACCES",
    "ftruncate": "EIO EINTR ENOSPC", "fallocate": "ENOSPC EINTR ENOSYS", "rename": "EACCES EIO ENOSPC",
    "renameat2": "EACCES EIO", "link": "EPERM EACCES ENOSPC", "linkat": "EPERM EACCES ENOSPC",
    "unlink": "EACCES EIO", "fcntl": "EAGAIN ENOMEM", "newfstatat": "EACCES EIO ENOMEM", "fstat": "EIO ENOMEM",
    "lseek": "EIO", "memfd_create": "EMFILE ENOMEM ENOSYS", "membarrier": "ENOSYS EPERM ENOMEM",
    "process_vm_readv": "EPERM ENOSYS", "ptrace": "EPERM EIO", "wait4": "EINTR", "poll": "EINTR ENOMEM",
    "ppoll": "EINTR ENOMEM", "clock_nanosleep": "EINTR", "signalfd4": "EMFILE ENOMEM",
    "pidfd_open": "EMFILE ENOSYS EPERM", "eventfd2": "EMFILE ENOMEM", "pipe2": "EMFILE", "dup2": "EMFILE",
    "getrandom": "ENOSYS EINTR EAGAIN", "fsync": "EIO ENOSPC", "fdatasync": "EIO ENOSPC", "fchown": "EPERM",
    "fchmod": "EPERM", "getdents64": "EIO", "readlink": "EACCES EIO", "access": "EACCES EIO", "getcwd": "ENOMEM",
    "prlimit64": "EPERM", "ioctl": "ENOTTY EPERM", "sysinfo": "EPERM", "uname": "EPERM", "gettid": "ENOSYS",
    "getpid": "ENOSYS", "rt_sigprocmask": "ENOSYS", "sigaltstack": "ENOMEM", "tgkill": "EPERM", "setsid": "EPERM",
    "exit_group": "", "statfs": "EIO", "fstatfs": "EIO", "close_range": "ENOSYS",
}
# What the C library takes for certain.
NEVER = {"set_robust_list", "rseq", "set_tid_address", "arch_prctl", "exit", "exit_group", "rt_sigaction", "getpid",
         "gettid", "getppid", "geteuid", "getuid", "getegid", "getgid"}
LIBC_KNOWS = {"rt_sigprocmask"}  # of tools: pthread_create() does not look
STICKY = {"ENOSPC", "EIO", "ENOMEM", "EMFILE", "EACCES", "EPERM", "ENOSYS"}


def patience():
    """Seconds after which a run hangs: more where others have the processors, too."""
    share = os.getloadavg()[0] / (4 * (os.cpu_count() or 1))
    return round(SECONDS * min(max(share, 1), 5))


def errors_of(role, call):
    if role != "recorder" and (call in NEVER or call in LIBC_KNOWS):
        return []
    return ERRORS.get(call, "" if call in NEVER else "EPERM").split()


# ---- Names of places --------------------------------------------------------------------------------------------


class Symbols:
    """Function names by offset in the file."""

    def __init__(self, path):
        text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
        self.bias = 0
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["LOAD"] and "E" in line.split("0x", 6)[-1].split(" ", 1)[-1][:6]:
                self.bias = int(words[2], 16) - int(words[1], 16)
        rows = []
        for line in subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwW":
                rows.append((int(words[0], 16), words[2]))
        self.rows = sorted(rows)

    def name(self, offset):
        at = bisect.bisect_right(self.rows, (offset + self.bias, "\x7f")) - 1
        return self.rows[at][1] if at >= 0 else hex(offset)


# ---- Scenarios --------------------------------------------------------------------------------------------------

Run = collections.namedtuple("Run", "out err status orphans ends hits left hangs sites directory stacks")


class Scenario:
    """`tidemark record` of tests/faults/program.c, with a trace."""

    name = "record"
    roles = ("record", "recorder")
    grace = 5  # seconds, for processes that outlive the command
    waits = False  # after a kill, for a minute
    ends = None  # of the program's processes, in a run without a fault

    def __init__(self, options):
        self.options = options
        self.tidemark = str(options.bin / "tidemark")
        self.program = [str(options.tools / "faults_program")]
        bare = subprocess.run(self.program, capture_output=True)
        self.bare_out, self.bare_status = bare.stdout, bare.returncode

    def command(self):
        return [self.tidemark, "record", "--trace", "-o", "run.tmk", "--"] + self.program

    def environment(self):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("LD_PRELOAD", "TIDEMARK_OPTIONS", "TIDEMARK_SESSION")}
        environment["TIDEMARK_CONFIG"] = ""
        environment["LC_ALL"] = "C"
        return environment

    def list_sites(self, directory):
        """A run without a fault, which has the places and how often each is passed."""
        return self.run(directory, [])

    def run_fault(self, directory, fault):
        number = "KILL" if fault.error == "KILL" else str(getattr(errno, fault.error))
        arguments = ["--site", fault.site, "--error", number, "--at", str(fault.at)]
        return self.run(directory, arguments + (["--sticky"] if fault.sticky else []))

    def errors_of(self, role, call):
        return errors_of(role, call) + ["KILL"]

    def run(self, directory, arguments):
        """Runs the command under inject; what came of it."""
        told = directory / "told"
        work = directory / "work"
        work.mkdir()
        command = [str(self.options.tools / "faults_inject"), "--seconds", str(patience() + self.grace), "--grace",
                   str(self.grace), "--result", str(told)]
        done = subprocess.run(command + arguments + self.command(), cwd=work, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True)
        return self.told(told, done, work)

    def told(self, told, done, work):
        facts = collections.defaultdict(list)
        for line in told.read_text().splitlines() if told.exists() else []:
            key, _, value = line.partition(" ")
            facts[key].append(value)
        sites = {value.rpartition(" ")[0]: int(value.rpartition(" ")[2]) for value in facts["site"]}
        return Run(done.stdout, done.stderr.decode(errors="replace"), int((facts["status"] or ["-1"])[0]),
                   [int(status) for status in facts["orphan"]], self.ends_of(facts["end"]), int((facts["hits"] or ["0"])[0]), facts["left"],
                   "hangs" in facts or done.returncode not in (0, 3), sites, work, self.stacks_of(told))

    def ends_of(self, lines):
        """Statuses of the program's processes, in an order of ours."""
        name = pathlib.Path(self.program[0]).name
        return sorted(int(status) for program, status in map(str.split, lines) if program == name)

    def stacks_of(self, told):
        stacks = told.with_name("told.stacks")
        lines = stacks.read_text(errors="replace").splitlines() if stacks.exists() else []
        return [line for line in lines if line.startswith(("#", "Thread "))]

    # ---- What must be so afterwards

    def program_ran(self, run):
        return bool(run.out)

    def check_program(self, run, role, error):
        if error == "KILL" and role == "recorder":
            return self.check_killed_program(run)
        if not self.program_ran(run):
            lines = run.err.strip().splitlines()
            if error != "KILL" and not 1 <= len(lines) <= 2:
                yield f"nothing ran, and {len(lines)} lines say why: {run.err[:LIMIT]!r}"
            return
        if run.out != self.bare_out:
            yield f"another output: {run.out!r}"
        if self.ends is not None and run.ends != self.ends:
            yield f"the program's processes ended with {run.ends}, and without a fault with {self.ends}"
        ends = [run.status] + run.orphans
        had_ended = run.status == 9 and self.bare_status in run.ends  # a killed command had waited for the program
        if self.bare_status << 8 not in ends and not had_ended and error == "KILL":
            yield f"another exit status: {ends}"
        if error != "KILL" and run.status != self.bare_status << 8:
            yield f"another exit status of the command: {run.status}"
        for line in run.err.splitlines():
            if line.startswith("program"):
                yield f"the program says {line!r}"

    def check_killed_program(self, run):
        """It, its child, or the program that this has executed, is killed as if by somebody else."""
        expected = self.bare_out.decode().splitlines()
        for got, want in zip(run.out.decode().splitlines(), expected):
            if got != want and not re.fullmatch(r"(child|program): 1009", got):
                yield f"another output: {got!r}"
        if run.status not in (self.bare_status << 8, (128 + 9) << 8, 9):
            yield f"another exit status: {run.status}"

    def check_files(self, run, error, call=""):
        """Killed, or out of memory, a writer leaves its log, or a draft that the next one removes; so does one that may not
        remove them."""
        dies = error == "KILL" or call == "unlink" or "the collector cannot go on" in run.err
        files = sorted(path for path in run.directory.iterdir())
        for path in files:
            if path.suffix == ".tmk":
                yield from self.check_opens(path, ["report", str(path)])
            elif path.suffix == ".tmt":
                yield from self.check_opens(path, ["replay", "-q", "-o", str(run.directory.parent / "replayed.tmk"),
                                                   str(path)])
            elif not (dies and re.search(r"\.tmk(-wal|-shm|\.new)$", path.name)):
                yield f"left behind: {path.name}"

    def check_opens(self, path, arguments):
        done = subprocess.run([self.tidemark] + arguments, capture_output=True, text=True, env=self.environment())
        if done.returncode != 0 and not (path.suffix == ".tmt" and re.search(CUT_SHORT, done.stderr)):
            yield f"{path.name} does not open: {done.returncode} {done.stderr.strip()[:LIMIT]}"

    def check(self, run, role, error, call=""):
        if run.hangs:
            yield "\n        ".join([f"hangs; left are {run.left}"] + run.stacks)
        elif run.left:
            yield f"processes are left: {run.left}"
        yield from self.check_program(run, role, error) or ()
        yield from self.check_files(run, error, call)
        if error != "KILL" and self.program_ran(run) and not (run.directory / "run.tmk").exists():
            if not re.search(r"^tidemark", run.err, re.M):
                yield f"no profile, and nobody says why: {run.err[:LIMIT]!r}"


class Starved(Scenario):
    """An allocation of the collector's fails: it ends, or does without."""

    name = "memory"
    roles = ("memory",)
    NOTHING = ["--site", "none:-2:0", "--error", "KILL"]
    wish = threading.local()

    def command(self):
        preload = f"LD_PRELOAD={self.options.tools / 'libfaults_malloc.so'}"
        return ["env", preload, f"FAULTS_MALLOC={self.wish.value}"] + super().command()

    def list_sites(self, directory):
        self.wish.value = f"list:{directory / 'sites'}"
        run = self.run(directory, self.NOTHING)
        rows = [line.split() for line in (directory / "sites").read_text().splitlines()]
        return run._replace(sites={f"memory:malloc:{place}": int(count) for place, count in rows})

    def run_fault(self, directory, fault):
        place = fault.site.split(":")[2]
        self.wish.value = f"fail:{place}:{fault.at}{':sticky' if fault.sticky else ''}"
        return self.run(directory, self.NOTHING)._replace(hits=1)

    def errors_of(self, role, call):
        return ["ENOMEM"]

    def check(self, run, role, error, call=""):
        """Who has no memory may leave what a kill leaves, but never changes how the program ends."""
        if self.program_ran(run) and run.status != self.bare_status << 8:
            yield f"another exit status of the command: {run.status}: {run.err[:LIMIT]!r}"
        for wrong in super().check(run, role, error, "unlink"):
            if not re.match("nothing ran|another exit status of", wrong):
                yield wrong


class Preloaded(Scenario):
    """The library preloaded by hand: the recorder starts its collector."""

    name = "preload"
    roles = ("collect", "recorder")
    waits = True
    grace = 70  # a collector waits a minute for the one who started it

    def command(self):
        library = self.options.lib / "libtidemark.so"
        return ["env", f"LD_PRELOAD={library}", "TIDEMARK_OPTIONS=-o run.tmk"] + self.program

    def ends_of(self, lines):
        """Without the recorder's, that starts the collector and ends, perhaps once more when that dies."""
        return [status for status in super().ends_of(lines) if status not in (0, 127)]

    def check(self, run, role, error, call=""):
        if run.hangs:
            yield "\n        ".join([f"hangs; left are {run.left}"] + run.stacks)
        elif run.left:
            yield f"processes are left: {run.left}"
        yield from self.check_program(run, role, error) or ()
        yield from self.check_files(run, error, call)  # nobody is there to be told why there is none


class Attached(Scenario):
    """`tidemark attach` of a program that runs on."""

    name = "attach"
    roles = ("attach",)

    def command(self):
        return [self.tidemark, "attach", "-q", "--for=50ms", "-o", "run.tmk", str(self.pid.value)]

    pid = threading.local()

    def run(self, directory, arguments):
        target = subprocess.Popen(self.program + ["lives"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        target.stdout.readline()
        self.pid.value = target.pid
        run = super().run(directory, arguments)
        try:
            out = target.communicate(b"end\n", timeout=patience())[0]
        except subprocess.TimeoutExpired:
            target.kill()
            out = b"the target hangs"
        return run._replace(out=out, orphans=[target.returncode])

    def check_program(self, run, role, error):
        if run.out != b"lives: 0\n" or run.orphans != [7]:
            yield f"the target: {run.out!r}, status {run.orphans}"


SCENARIOS = (Scenario, Starved, Preloaded, Attached)

# ---- Running them -----------------------------------------------------------------------------------------------

Fault = collections.namedtuple("Fault", "scenario site role call error at sticky")


def split(site):
    role, number, places = site.split(":")
    return role, CALLS.get(int(number), number) if number.isdigit() else number, [int(place, 16) for place in places.split("+")]


class Campaign:
    def __init__(self, options):
        self.options = options
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-faults."))
        self.symbols = {"recorder": Symbols(str(options.lib / "libtidemark.so"))}
        self.tool_symbols = Symbols(str(options.bin / "tidemark"))
        self.wrong = collections.OrderedDict()
        self.ran = self.missed = self.planned = self.places = 0
        self.tried = set()
        self.begin = time.time()
        self.end = self.begin + 60 * options.minutes if options.minutes else float("inf")

    def place(self, fault):
        role, call, _ = split(fault.site)
        names = self.chain(fault.site)
        often = f", time {fault.at}" if fault.at > 1 else ""
        return f"{fault.scenario.name}: {role} {call} {fault.error}{' from there on' if fault.sticky else ''}{often} in {names}"

    def sites_of(self, scenario):
        """The union of two runs: threads do not do the same each time."""
        sites = {}
        for number in range(2 if self.options.whole else 1):
            directory = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
            run = scenario.list_sites(directory)
            faults = list(scenario.check(run, "", ""))
            if faults:
                self.wrong[f"{scenario.name}: without a fault"] = faults
            scenario.ends = run.ends
            for site, count in run.sites.items():
                if split(site)[0] in scenario.roles and self.is_of_part(site) and not self.is_programs_own(site):
                    sites[site] = max(count, sites.get(site, 0))
            shutil.rmtree(directory)
        return sites

    def is_of_part(self, site):
        number, count = self.options.part
        return zlib.crc32(site.encode()) % count == number - 1

    def faults_of(self, scenario, sites):
        """With what comes first when time is short: each place once, then kills, then other errors and times."""
        chains = set()
        for site, count in sites.items():
            role, call, _ = split(site)
            errors = scenario.errors_of(role, call)
            is_new = (role, call, self.chain(site)) not in chains
            chains.add((role, call, self.chain(site)))
            for error in errors if self.options.whole and is_new else errors[:1] + errors[1:][-1:]:
                for at in sorted({1, count, (count + 1) // 2}) if self.options.whole and is_new else [1]:
                    turn = 2 if at > 1 else 0 if error == errors[0] else 1 if error == errors[-1] else 2
                    yield turn, Fault(scenario, site, role, call, error, at, False)
                if self.options.whole and is_new and count > 1 and error in STICKY:
                    yield 2, Fault(scenario, site, role, call, error, 1, True)

    def chain(self, site):
        role, _, places = split(site)
        return " < ".join(self.symbols.get(role, self.tool_symbols).name(place) for place in places)

    def is_programs_own(self, site):
        """A hook that makes the program's call in its place."""
        return split(site)[0] == "recorder" and self.chain(site).startswith("hook")

    def chosen(self, faults):
        """One place for each call of each role, unless all are wanted."""
        seen = set()
        for turn, fault in faults:
            key = (fault.role, fault.site if fault.call == "malloc" else fault.call, fault.error == "KILL")
            if self.options.errors and fault.error == "KILL":
                continue
            if self.options.only and self.options.only not in self.place(fault):
                continue
            if self.options.whole or self.options.only or key not in seen:
                seen.add(key)
                yield turn, fault

    def try_fault(self, fault):
        """None: there is no time left."""
        if time.time() > self.end:
            return None
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        run = fault.scenario.run_fault(directory, fault)
        wrong = list(fault.scenario.check(run, fault.role, fault.error, fault.call))
        if wrong and self.options.verbose:
            wrong.append("stderr: " + run.err[:LIMIT])
        shutil.rmtree(directory)
        return run.hits > 0, wrong

    def see(self, fault, hit, wrong):
        self.ran += 1
        self.missed += not hit
        self.tried.add((fault.scenario.name, fault.site))
        if wrong:
            self.wrong[self.place(fault)] = wrong
            print(self.place(fault), *wrong, sep="\n    ", flush=True)

    def plan(self, scenario):
        sites = self.sites_of(scenario)
        faults = list(self.chosen(self.faults_of(scenario, sites)))[self.options.first :: self.options.every]
        by_role = collections.Counter(split(site)[0] for site in sites)
        print(f"{scenario.name}: {', '.join(f'{count} places in {role}' for role, count in by_role.items())}; "
              f"{len(faults)} runs", flush=True)
        self.planned += len(faults)
        self.places += len({fault.site for _, fault in faults})
        return faults

    def run(self, scenarios):
        """Who waits for a minute needs no processor: such runs have threads of their own."""
        planned = [row for scenario in scenarios for row in self.plan(scenario)]
        jobs = self.options.jobs
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool, \
             concurrent.futures.ThreadPoolExecutor(4 * jobs) as waiting:
            running = {}
            for _, fault in sorted(planned, key=lambda row: row[0]):
                waits = fault.error == "KILL" and fault.scenario.waits
                running[(waiting if waits else pool).submit(self.try_fault, fault)] = fault
            for done in concurrent.futures.as_completed(running):
                if done.result():
                    self.see(running[done], *done.result())

    def conclude(self):
        late = self.planned - self.ran
        print(f"{len(self.tried)} of {self.places} places, {self.ran} faults in {time.time() - self.begin:.0f} s, "
              f"{self.missed} not reached this time, {late} not tried for want of time, {len(self.wrong)} wrong")
        for place in self.wrong if len(self.wrong) < 500 else ():
            print("  " + place)
        is_short = len(self.tried) < self.places
        return 1 if self.wrong or not self.ran or is_short or self.missed > self.ran // 4 else 0


def refusal(options):
    """Why nothing can be injected here, or None."""
    told = tempfile.NamedTemporaryFile(prefix="tidemark-faults.")
    done = subprocess.run([str(options.tools / "faults_inject"), "--result", told.name, "true"], capture_output=True,
                          text=True)
    return None if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"


def part_of(text):
    number, _, count = text.partition("/")
    if not 1 <= int(number) <= int(count):
        raise ValueError
    return int(number), int(count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--minutes", type=float, help="what is not tried by then is counted")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="of the places")
    parser.add_argument("--errors", action="store_true", help="nothing is killed")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1) + 1, help="a run waits most of its time")
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--only", help="places whose line has this text")
    parser.add_argument("--every", type=int, default=1, help="every Nth fault")
    parser.add_argument("--from", type=int, default=0, dest="first", help="of those the Mth and its followers: --every N with "
                        "--from 0 to N - 1 is all")
    for name in ("bin", "lib", "tools"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args()
    if refused := refusal(options):
        print("skip:", refused)
        return 77
    campaign = Campaign(options)
    try:
        campaign.run([kind(options) for kind in SCENARIOS if not options.scenario or kind.name in options.scenario])
        return campaign.conclude()
    finally:
        shutil.rmtree(campaign.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
