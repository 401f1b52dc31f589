/* Looks at processor, kernel, C library, limits and policies. Each function looks at one thing,
 * through /proc, /sys or a harmless system call, and adds one finding. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "doctor/doctor.h"
#include "model/figure_human.h"
#include "procfs/cgroup.h"

enum { SMALL_FILE_BYTES = 64 << 20, FEW_DESCRIPTORS = 64 };
#define SMALL_ADDRESS_SPACE ((uint64_t)4 << 30)
#define SMALL_MEMORY        ((uint64_t)256 << 20)

/* ---- Processor ----------------------------------------------------------------------------- */

/* Does the first line of the file that begins with `key` contain `word`? */
static bool doctor_machine_line_has(const char *path, const char *key, const char *word)
{
    char *line = NULL;
    size_t bytes = 0;
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &bytes, file) > 0)
        if (!strncmp(line, key, strlen(key))) {
            found = strstr(line, word) != NULL;
            break;
        }
    free(line);
    if (file)
        fclose(file);
    return found;
}

static void doctor_machine_look_at_processor(struct doctor *doctor)
{
#if defined __x86_64__
    if (doctor_machine_line_has("/proc/cpuinfo", "flags", " constant_tsc") &&
        doctor_machine_line_has("/proc/cpuinfo", "flags", " nonstop_tsc"))
        doctor_add(doctor, "processor", DOCTOR_OK, NULL, "x86-64 with a steady time stamp counter");
    else
        doctor_add(doctor, "processor", DOCTOR_NOTE,
                   "times and the order of events of several threads are less exact; nothing to do "
                   "in a virtual machine that hides the counter's flags",
                   "x86-64, but the time stamp counter is not said to be steady");
#elif defined __aarch64__
    doctor_add(doctor, "processor", DOCTOR_OK, NULL, "aarch64");
#else
    doctor_add(doctor, "processor", DOCTOR_PROBLEM, "use an x86-64 or aarch64 machine",
               "call paths cannot be taken on this processor");
#endif
}

/* ---- Kernel -------------------------------------------------------------------------------- */

static bool doctor_machine_wipes_on_fork(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    bool works = !madvise(page, 4096, MADV_WIPEONFORK);
    munmap(page, 4096);
    return works;
}

static void doctor_machine_look_at_fork(struct doctor *doctor)
{
    if (!doctor_machine_wipes_on_fork())
        doctor_add(doctor, "fork", DOCTOR_PROBLEM, "Linux 4.14 or newer is needed",
                   "the kernel cannot wipe memory on fork (MADV_WIPEONFORK)");
}

static void doctor_machine_look_at_barriers(struct doctor *doctor)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED))
        doctor_add(doctor, "membarrier", DOCTOR_NOTE,
                   "Linux 4.16 or newer, and a sandbox that allows membarrier, make the order of "
                   "events between threads exact",
                   "%s", commands < 0 ? strerror(errno) : "no expedited barriers");
    else
        doctor_add(doctor, "membarrier", DOCTOR_OK, NULL,
                   "events of several threads are in exact order");
}

static void doctor_machine_look_at_shared_memory(struct doctor *doctor)
{
    int fd = memfd_create("tidemark-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *memory = MAP_FAILED;
    if (fd >= 0 && !ftruncate(fd, 1 << 20))
        memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        doctor_add(doctor, "shared memory", DOCTOR_PROBLEM,
                   "the sandbox or container must allow memfd_create and mmap",
                   "memory cannot be shared with the collector: %s", strerror(errno));
    else
        doctor_add(doctor, "shared memory", DOCTOR_OK, NULL,
                   "memfd works; the size of /dev/shm does not matter");
    if (memory != MAP_FAILED)
        munmap(memory, 1 << 20);
    if (fd >= 0)
        close(fd);
}

static void doctor_machine_look_at_pages(struct doctor *doctor)
{
    uint64_t entry;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool readable =
        fd >= 0 &&
        pread(fd, &entry, sizeof entry,
              (off_t)((uintptr_t)&entry / (uintptr_t)getpagesize() * sizeof entry)) == sizeof entry;
    if (readable)
        doctor_add(doctor, "page tables", DOCTOR_OK, NULL,
                   "what of each call path is resident can be seen");
    else
        doctor_add(doctor, "page tables", DOCTOR_NOTE,
                   "mount /proc in the container, and let it be read",
                   "what is resident cannot be seen: /proc/self/pagemap: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void doctor_machine_look_at_kernel(struct doctor *doctor)
{
    struct utsname name;
    if (!uname(&name))
        doctor_add(doctor, "kernel", DOCTOR_OK, NULL, "%s %s", name.sysname, name.release);
    doctor_machine_look_at_fork(doctor);
    doctor_machine_look_at_barriers(doctor);
    doctor_machine_look_at_shared_memory(doctor);
    doctor_machine_look_at_pages(doctor);
}

/* ---- C library ----------------------------------------------------------------------------- */

static void doctor_machine_look_at_libc(struct doctor *doctor)
{
    unsigned major = 0, minor = 0;
    sscanf(gnu_get_libc_version(), "%u.%u", &major, &minor);
    if (major > 2 || (major == 2 && minor >= 35))
        doctor_add(doctor, "C library", DOCTOR_OK, NULL, "glibc %s", gnu_get_libc_version());
    else
        doctor_add(doctor, "C library", DOCTOR_NOTE, "glibc 2.35 or newer has _dl_find_object",
                   "glibc %s: finding unwind tables takes a lock", gnu_get_libc_version());
}

/* ---- Policies ------------------------------------------------------------------------------ */

/* The number in a file; -1: the file does not exist, or has none. */
static int doctor_machine_read_number(const char *path)
{
    int number = -1;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%d", &number) != 1)
        number = -1;
    if (file)
        fclose(file);
    return number;
}

static void doctor_machine_look_at_ptrace(struct doctor *doctor)
{
    static const char *const scopes[] = {"processes of the same user",
                                         "descendants, and who allows it",
                                         "only with CAP_SYS_PTRACE", "nobody, until the next boot"};
    int scope = doctor_machine_read_number("/proc/sys/kernel/yama/ptrace_scope");
    bool root = !geteuid();
    if (scope < 0 || scope > 3)
        doctor_add(doctor, "ptrace", DOCTOR_OK, NULL, "no restriction (Yama) but the user's own");
    else if (scope == 0 || (root && scope < 3))
        doctor_add(doctor, "ptrace", DOCTOR_OK, NULL, "ptrace_scope %d: %s", scope, scopes[scope]);
    else
        doctor_add(
            doctor, "ptrace", DOCTOR_NOTE,
            scope == 3
                ? "programs are recorded all the same when Tidemark starts them"
                : "programs that Tidemark starts are recorded all the same; for ones that run "
                  "already: sudo sysctl kernel.yama.ptrace_scope=0, or be root",
            "ptrace_scope %d: %s", scope, scopes[scope]);
}

static void doctor_machine_look_at_perf(struct doctor *doctor)
{
    if (access("/proc/sys/kernel/perf_event_paranoid", F_OK))
        doctor_add(doctor, "perf events", DOCTOR_OK, NULL, "not there, and not needed");
    else
        doctor_add(doctor, "perf events", DOCTOR_OK, NULL, "not needed (perf_event_paranoid is %d)",
                   doctor_machine_read_number("/proc/sys/kernel/perf_event_paranoid"));
}

static void doctor_machine_look_at_seccomp(struct doctor *doctor)
{
    if (doctor_machine_line_has("/proc/self/status", "Seccomp:", "2"))
        doctor_add(doctor, "sandbox", DOCTOR_NOTE,
                   "a filter without futex, rt_sigprocmask or memfd_create ends recorded programs",
                   "system calls are filtered here (seccomp), as in most containers");
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void doctor_machine_look_at_limit(struct doctor *doctor, int which, const char *name,
                                         uint64_t least, const char *advice)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)which, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= least)
        return;
    doctor_add(doctor, "limits", DOCTOR_NOTE, advice, "%s is %llu", name,
               (unsigned long long)limit.rlim_cur);
}

static void doctor_machine_look_at_limits(struct doctor *doctor)
{
    size_t before = doctor->count;
    doctor_machine_look_at_limit(
        doctor, RLIMIT_AS, "the address space (ulimit -v)", SMALL_ADDRESS_SPACE,
        "the recorder maps a few hundred MiB without using them: ulimit -v unlimited");
    doctor_machine_look_at_limit(doctor, RLIMIT_FSIZE, "the size of files (ulimit -f)",
                                 SMALL_FILE_BYTES,
                                 "profiles and traces may not fit: ulimit -f unlimited");
    doctor_machine_look_at_limit(doctor, RLIMIT_NOFILE, "the number of open files (ulimit -n)",
                                 FEW_DESCRIPTORS,
                                 "the collector needs a few for each process: ulimit -n 1024");
    if (doctor->count == before)
        doctor_add(doctor, "limits", DOCTOR_OK, NULL,
                   "address space, files and descriptors suffice");
}

static void doctor_machine_look_at_memory(struct doctor *doctor)
{
    static struct cgroup_memory memory; /* holds paths: too large for a stack */
    if (cgroup_read(getpid(), &memory) || !cgroup_is_limited(memory.limit_bytes)) {
        doctor_add(doctor, "memory", DOCTOR_OK, NULL, "no control group limits it");
        return;
    }
    struct figure used = figure_at_most(memory.limit_current_bytes, memory.limit_bytes);
    struct figure room = figure_sub(memory.limit_bytes, used);
    if (!figure_known(room))
        doctor_add(doctor, "memory", DOCTOR_NOTE, NULL,
                   "the control group is limited to %s; how much of that is in use cannot be read",
                   figure_human_bytes(memory.limit_bytes).text);
    else if (figure_less(room, figure_of(SMALL_MEMORY)))
        doctor_add(doctor, "memory", DOCTOR_NOTE,
                   "the collector takes 10 to 150 MiB beside the program, in its group: raise the "
                   "limit for recordings",
                   "the control group has room for %s more", figure_human_bytes(room).text);
    else
        doctor_add(doctor, "memory", DOCTOR_OK, NULL, "the control group has room for %s",
                   figure_human_bytes(room).text);
}

void doctor_look_at_machine(struct doctor *doctor)
{
    doctor_machine_look_at_processor(doctor);
    doctor_machine_look_at_kernel(doctor);
    doctor_machine_look_at_libc(doctor);
    doctor_machine_look_at_ptrace(doctor);
    doctor_machine_look_at_perf(doctor);
    doctor_machine_look_at_seccomp(doctor);
    doctor_machine_look_at_limits(doctor);
    doctor_machine_look_at_memory(doctor);
}
