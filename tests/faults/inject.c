/* Fails one system call of a program and of all that it starts, or kills the process there. A
 * seccomp filter sends each call to this process, which answers "go on", an error, or SIGKILL.
 * Which call is meant is told by the names of the process and of the call, and by the places of
 * Tidemark's code that it came through. Without a place, it lists the places.
 *
 *   inject [--site SITE --error ERRNO|KILL [--at N] [--sticky]] [--seconds S] [--grace S]
 *          --result FILE COMMAND…
 *
 * A site is ROLE:CALL:PLACE+PLACE. The role is the command of tidemark that makes the call
 * ("record", "collect", "attach"), or "recorder" for calls that libtidemark makes inside another
 * program. Calls that the program makes itself have no role. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 2, STACK_WORDS = 1024, SITES = 8192, SITE_BYTES = 96, TEXTS = 256 };
enum { KILL = -1, STATUS_HANGS = 3, STICKY_MOST = 300 };

struct options {
    const char *site, *result;
    int error;                   /* KILL, or an errno */
    unsigned at, seconds, grace; /* grace: for who outlives the command, in seconds */
    bool sticky, list;
};

struct site {
    char name[SITE_BYTES];
    unsigned count;
};

/* Executable memory of a process. */
struct text {
    uintptr_t start, end, bias;
    char file[64]; /* its last component */
};

static struct options options = {.at = 1, .seconds = 60, .grace = 5};
static struct site sites[SITES];
static size_t site_count;
static unsigned hits;
static FILE *result;
static int listener = -1;

static void inject_fail(const char *what)
{
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- The filter ---------------------------------------------------------------------------- */

/* The number in SITE; -1: all calls are of interest. */
static int inject_wanted_call(void)
{
    const char *at = options.site ? strchr(options.site, ':') : NULL;
    return at ? atoi(at + 1) : -1;
}

/* Calls that cannot fail pass. A process that ends says with what status (inject_note_end()). */
static int inject_install_filter(void)
{
    int wanted = inject_wanted_call();
    unsigned other = wanted < 0 ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)wanted, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, other),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                        &program);
}

/* It has our descriptors until it lets go of them, which is its first call to be answered: so we
 * have the listener, under the number that was free. */
static void inject_become_command(char **command)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    personality(ADDR_NO_RANDOMIZE);
    if (inject_install_filter() < 0)
        _exit(125);
    unshare(CLONE_FILES);
    closefrom(3);
    execvp(command[0], command);
    _exit(127);
}

static pid_t inject_start(char **command)
{
    int expected = dup(0), status;
    close(expected);
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        inject_become_command(command);
    if (child < 0)
        inject_fail("clone");
    while (fcntl(expected, F_GETFD) < 0) {
        if (waitpid(child, &status, WNOHANG) == child)
            inject_fail("seccomp");
        sched_yield();
    }
    listener = expected;
    return child;
}

/* ---- Who calls, and from where ------------------------------------------------------------- */

static const char *inject_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "record" for `tidemark record`, "" for another program. */
static void inject_tool_of(pid_t thread, char tool[16])
{
    char path[64], file[256] = "", line[256] = "";
    *tool = '\0';
    snprintf(path, sizeof path, "/proc/%d/exe", (int)thread);
    ssize_t length = readlink(path, file, sizeof file - 1);
    if (length <= 0 || strcmp(inject_last_part(file), "tidemark") != 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    length = fd >= 0 ? read(fd, line, sizeof line - 2) : -1;
    close(fd);
    if (length > 0)
        snprintf(tool, 16, "%s", line + strlen(line) + 1);
}

/* Its executable mappings; `bias` is where the file begins in memory. */
static size_t inject_texts_of(pid_t thread, struct text texts[TEXTS])
{
    char path[64], line[512], file[400], rights[8];
    uintptr_t start, end, offset;
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)thread);
    FILE *maps = fopen(path, "re");
    while (maps && count < TEXTS && fgets(line, sizeof line, maps)) {
        *file = '\0';
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %399s", &start, &end, rights, &offset, file) < 4)
            continue;
        if (rights[2] != 'x')
            continue;
        texts[count] = (struct text){start, end, start - offset, ""};
        snprintf(texts[count++].file, sizeof texts->file, "%.60s", inject_last_part(file));
    }
    if (maps)
        fclose(maps);
    return count;
}

static const struct text *inject_text_at(const struct text *texts, size_t count, uintptr_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address - texts[i].start < texts[i].end - texts[i].start)
            return &texts[i];
    return NULL;
}

static size_t inject_read(pid_t thread, uintptr_t address, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)address, bytes};
    ssize_t got = process_vm_readv(thread, &here, 1, &there, 1, 0);
    return got < 0 ? 0 : (size_t)got;
}

/* Up to the end of the page where the stack ends. */
static size_t inject_read_stack(pid_t thread, uintptr_t sp, uintptr_t words[STACK_WORDS])
{
    size_t got = 0, want = STACK_WORDS * sizeof *words;
    while (got < want) {
        size_t part = 4096 - ((sp + got) & 4095);
        part = part < want - got ? part : want - got;
        if (inject_read(thread, sp + got, (char *)words + got, part) != part)
            break;
        got += part;
    }
    return got / sizeof *words;
}

/* Is the instruction before `address` a call? */
static bool inject_is_behind_call(pid_t thread, uintptr_t address)
{
    unsigned char code[7];
    if (inject_read(thread, address - sizeof code, code, sizeof code) != sizeof code)
        return false;
    return code[2] == 0xe8 || (code[5] == 0xff && (code[6] & 0x38) == 0x10) ||
           (code[4] == 0xff && (code[5] & 0x38) == 0x10) || (code[1] == 0xff && code[2] == 0x15) ||
           (code[1] == 0xff && (code[2] & 0x38) == 0x10);
}

static bool inject_is_ours(const struct text *text)
{
    return !strcmp(text->file, "tidemark") || !strncmp(text->file, "libtidemark", 11);
}

/* Where the function begins that the call before `address` leads to, perhaps by way of the linkage
 * table. 0: the call is by a pointer. */
static uintptr_t inject_callee(pid_t thread, uintptr_t address)
{
    unsigned char code[6], stub[10] = {0};
    int32_t distance;
    uintptr_t target = 0, at;
    if (inject_read(thread, address - sizeof code, code, sizeof code) != sizeof code)
        return 0;
    memcpy(&distance, code + 2, sizeof distance);
    at = address + (uintptr_t)(intptr_t)distance;
    if (code[0] == 0xff && code[1] == 0x15)
        return inject_read(thread, at, &target, sizeof target) == sizeof target ? target : 0;
    if (code[1] != 0xe8)
        return 0;
    inject_read(thread, at, stub, sizeof stub);
    unsigned prefix = !memcmp(stub, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0; /* endbr64 */
    if (memcmp(stub + prefix, "\xff\x25", 2) != 0)
        return at;
    memcpy(&distance, stub + prefix + 2, sizeof distance);
    at += prefix + 6 + (uintptr_t)(intptr_t)distance;
    return inject_read(thread, at, &target, sizeof target) == sizeof target ? target : 0;
}

static void inject_registers_of(pid_t thread, uintptr_t *sp, uintptr_t *ip)
{
    char path[64], line[256] = "";
    *sp = *ip = 0;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)thread);
    FILE *file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file))
        sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %lx %lx", sp, ip);
    if (file)
        fclose(file);
}

/* Of the stack's words that look like return addresses, the ones in code of ours, from the nearest
 * on. */
static size_t inject_places_in(pid_t thread, const struct text *texts, size_t text_count,
                               const uintptr_t *words, size_t count, uintptr_t places[PLACES])
{
    size_t found = 0;
    for (size_t i = 0; i < count && found < PLACES; i++) {
        const struct text *text = inject_text_at(texts, text_count, words[i]);
        if (text && inject_is_ours(text) && inject_is_behind_call(thread, words[i]))
            places[found++] = words[i] - text->bias;
    }
    return found;
}

/* The index of the word to which the function of the C library returns that makes the call. What an
 * earlier call has left in its frame does not lead to that function. syscall() has no frame, and
 * what stands in for it in the recorder jumps to it. `count`: not found. */
static size_t inject_caller_at(pid_t thread, const struct text *texts, size_t text_count,
                               const uintptr_t *words, size_t count, uintptr_t ip)
{
    enum { FRAME_WORDS = 64, FUNCTION_BYTES = 4096 };
    for (size_t i = 0; i < count && i < FRAME_WORDS; i++) {
        if (!inject_text_at(texts, text_count, words[i]))
            continue;
        uintptr_t callee = inject_callee(thread, words[i]);
        const struct text *by_way_of = callee ? inject_text_at(texts, text_count, callee) : NULL;
        if (callee &&
            (ip - callee < FUNCTION_BYTES || (i == 0 && by_way_of && inject_is_ours(by_way_of))))
            return i;
    }
    return count;
}

/* The nearest places of ours in the stack. In another program (`inside`) only those calls are ours
 * that a function of ours has made itself. */
static size_t inject_places_of(pid_t thread, bool inside, uintptr_t places[PLACES])
{
    static struct text texts[TEXTS];
    static uintptr_t words[STACK_WORDS];
    uintptr_t sp, ip;
    size_t text_count = inject_texts_of(thread, texts), first = 0;
    inject_registers_of(thread, &sp, &ip);
    size_t count = inject_read_stack(thread, sp, words);
    const struct text *text = inject_text_at(texts, text_count, ip);
    if (inside && !(text && inject_is_ours(text))) {
        first = inject_caller_at(thread, texts, text_count, words, count, ip);
        text = first < count ? inject_text_at(texts, text_count, words[first]) : NULL;
        if (!text || !inject_is_ours(text))
            return 0;
    }
    return inject_places_in(thread, texts, text_count, words + first, count - first, places);
}

/* "" where it is none of ours. */
static void inject_name_site(const struct seccomp_notif *call, char name[SITE_BYTES])
{
    char tool[16];
    uintptr_t places[PLACES];
    inject_tool_of((pid_t)call->pid, tool);
    size_t count = inject_places_of((pid_t)call->pid, !*tool, places);
    *name = '\0';
    if (!count)
        return;
    int at = snprintf(name, SITE_BYTES, "%s:%d:", *tool ? tool : "recorder", call->data.nr);
    for (size_t i = 0; i < count; i++)
        at += snprintf(name + at, SITE_BYTES - (size_t)at, "%s%lx", i ? "+" : "", places[i]);
}

/* ---- Answers ------------------------------------------------------------------------------- */

static unsigned inject_count(const char *name)
{
    for (size_t i = 0; i < site_count; i++)
        if (!strcmp(sites[i].name, name))
            return ++sites[i].count;
    if (site_count == SITES)
        return 0;
    snprintf(sites[site_count].name, SITE_BYTES, "%s", name);
    return sites[site_count++].count = 1;
}

/* A wake has no error that it could have, and the C library does not look: answered for the kernel,
 * it would be lost, and who sleeps would sleep on. */
static bool inject_is_wake(const struct seccomp_notif *call)
{
    int operation = (int)call->data.args[1] & FUTEX_CMD_MASK;
    return call->data.nr == SYS_futex && operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET;
}

/* Is this the call that is meant? */
static bool inject_is_meant(const struct seccomp_notif *call)
{
    char name[SITE_BYTES];
    if (hits >= STICKY_MOST || inject_is_wake(call))
        return false; /* to look who calls takes its time */
    inject_name_site(call, name);
    if (!*name)
        return false;
    unsigned count = inject_count(name);
    if (!options.site || strcmp(name, options.site) != 0)
        return false;
    return count == options.at || (options.sticky && count > options.at);
}

/* brk() fails by saying where the break is. */
static void inject_answer(const struct seccomp_notif *call, bool meant)
{
    struct seccomp_notif_resp answer = {.id = call->id};
    if (!meant)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (call->data.nr != SYS_brk)
        answer.error = -options.error;
    hits += meant;
    if (meant && options.error == KILL)
        kill((pid_t)call->pid, SIGKILL);
    else
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Of processes that are none of Tidemark's: whoever waited for them may not live to tell. */
static void inject_note_end(const struct seccomp_notif *call)
{
    char path[64], file[256] = "";
    snprintf(path, sizeof path, "/proc/%d/exe", (int)call->pid);
    if (readlink(path, file, sizeof file - 1) > 0 && strcmp(inject_last_part(file), "tidemark"))
        fprintf(result, "end %s %d\n", inject_last_part(file), (int)(call->data.args[0] & 0xff));
}

static void inject_hear_call(void)
{
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
        return;
    bool ends = call.data.nr == SYS_exit_group;
    if (ends)
        inject_note_end(&call);
    inject_answer(&call, !ends && inject_is_meant(&call));
}

/* ---- Until all have ended ------------------------------------------------------------------ */

static uint64_t inject_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Our children: those that were started, and whose parents have ended. */
static size_t inject_children(pid_t *children, size_t room)
{
    char path[64];
    size_t count = 0;
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    FILE *file = fopen(path, "re");
    while (file && count < room && fscanf(file, "%d", &child) == 1)
        children[count++] = child;
    if (file)
        fclose(file);
    return count;
}

static void inject_say_left(pid_t child)
{
    char path[64], name[64] = "?";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)child);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof name, file))
            name[strcspn(name, "\n")] = '\0';
        fclose(file);
    }
    fprintf(result, "left %s\n", name);
}

/* Where its threads are, into FILE.stacks, if there is a debugger. */
static void inject_say_stacks(pid_t child)
{
    char pid[16],
        *gdb[] = {"timeout", "30", "gdb", "-nx", "-batch", "-ex", "thread apply all bt 16",
                  "-p",      pid,  NULL};
    char path[4096];
    snprintf(pid, sizeof pid, "%d", (int)child);
    snprintf(path, sizeof path, "%s.stacks", options.result);
    pid_t debugger = fork();
    if (debugger == 0) {
        int to = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        dup2(to, 1);
        dup2(to, 2);
        execvp(*gdb, gdb);
        _exit(127);
    }
    if (debugger > 0)
        waitpid(debugger, NULL, 0);
}

/* Killing one makes its children ours. */
static void inject_kill_all(void)
{
    pid_t children[256];
    size_t hanging = inject_children(children, 256);
    for (size_t i = 0; i < hanging; i++)
        inject_say_stacks(children[i]);
    for (size_t count; (count = inject_children(children, 256)) > 0;)
        for (size_t i = 0; i < count; i++) {
            inject_say_left(children[i]);
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, __WALL);
        }
}

/* False: nobody is left. */
static bool inject_reap(pid_t command, int *status)
{
    int ended_status;
    pid_t ended;
    while ((ended = waitpid(-1, &ended_status, WNOHANG | __WALL)) > 0) {
        if (ended == command)
            *status = ended_status;
        else
            fprintf(result, "orphan %d\n", ended_status);
    }
    return ended == 0;
}

/* Who outlives the command has a while to end by itself. */
static int inject_run(pid_t command)
{
    int status = -1;
    uint64_t end_ms = inject_now_ms() + 1000 * (uint64_t)options.seconds;
    bool ended = false;
    while (inject_reap(command, &status)) {
        struct pollfd waiting = {.fd = listener, .events = POLLIN};
        if (poll(&waiting, 1, 5) > 0 && waiting.revents & POLLIN)
            inject_hear_call();
        else if (waiting.revents & POLLHUP)
            usleep(1000);
        if (status != -1 && !ended) {
            ended = true;
            end_ms = end_ms < inject_now_ms() + 1000 * options.grace
                         ? end_ms
                         : inject_now_ms() + 1000 * options.grace;
        }
        if (inject_now_ms() > end_ms) {
            fprintf(result, "hangs\n");
            inject_kill_all();
            return STATUS_HANGS;
        }
    }
    fprintf(result, "status %d\n", status);
    return 0;
}

/* ---- The command --------------------------------------------------------------------------- */

static bool inject_take_option(const char *name, const char *value)
{
    if (!strcmp(name, "--site"))
        options.site = value;
    else if (!strcmp(name, "--error"))
        options.error = !strcmp(value, "KILL") ? KILL : atoi(value);
    else if (!strcmp(name, "--at"))
        options.at = (unsigned)atoi(value);
    else if (!strcmp(name, "--seconds"))
        options.seconds = (unsigned)atoi(value);
    else if (!strcmp(name, "--grace"))
        options.grace = (unsigned)atoi(value);
    else if (!strcmp(name, "--result"))
        options.result = value;
    else
        return false;
    return true;
}

static char **inject_take_options(char **argument)
{
    while (*argument && !strncmp(*argument, "--", 2)) {
        if (!strcmp(*argument, "--sticky"))
            options.sticky = true;
        else if (!argument[1] || !inject_take_option(*argument, argument[1]))
            break;
        else
            argument++;
        argument++;
    }
    return argument;
}

int main(int argc, char **argv)
{
    (void)argc;
    char **command = inject_take_options(argv + 1);
    if (!*command || !options.result || !(result = fopen(options.result, "we"))) {
        fputs("usage: inject [--site SITE --error ERRNO|KILL] --result FILE COMMAND...\n", stderr);
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    int status = inject_run(inject_start(command));
    fprintf(result, "hits %u\n", hits);
    for (size_t i = 0; i < site_count && !options.site; i++)
        fprintf(result, "site %s %u\n", sites[i].name, sites[i].count);
    fclose(result);
    return status;
}
