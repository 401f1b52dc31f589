/* Processes made in every way the kernel has, and processes that take their own rights away. */
#include "torture.h"
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

extern char **environ;

/* ---- Storms ---- */

/* A tree of forks, three children each, three levels deep, several trees one after the other. */
static void fork_tree(int depth)
{
    torture_work(200);
    if (!depth)
        return;
    pid_t child[3];
    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        CHECK(child[i] >= 0);
        if (!child[i]) {
            fork_tree(depth - 1);
            _exit(i);
        }
    }
    for (int i = 0; i < 3; i++)
        CHECK(torture_wait(child[i]) == i << 8);
}

static void fork_storm(void)
{
    for (int i = 0; i < torture_times(1); i++)
        fork_tree(3);
}

static atomic_bool threads_stop;

static void *allocate_until_stopped(void *argument)
{
    void *window[64] = {0};
    for (size_t i = 0; !atomic_load(&threads_stop); i++) {
        torture_freed(window[i % 64]);
        window[i % 64] = torture_counted(16 + i % 1000);
    }
    for (int i = 0; i < 64; i++)
        torture_freed(window[i]);
    return argument;
}

/* Forks while other threads are in the middle of malloc: whatever they hold, the child goes on. */
static void fork_under_threads(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&thread[i], NULL, allocate_until_stopped, NULL));
    for (int i = 0; i < torture_times(15); i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            torture_work(300);
            _exit(7);
        }
        CHECK(torture_wait(pid) == 7 << 8);
    }
    atomic_store(&threads_stop, true);
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_join(thread[i], NULL));
}

/* vfork and posix_spawn from several threads at once; what is started allocates next to nothing. */
static void *spawn_some(void *argument)
{
    char *arguments[] = {(char *)"true", NULL};
    for (volatile int i = 0; i < torture_times(6); i++) {
        pid_t pid;
        torture_work(50);
        if (i % 2) {
            CHECK(!posix_spawnp(&pid, "true", NULL, NULL, arguments, environ));
        } else {
            pid = vfork();
            if (!pid) {
                execvp("true", arguments);
                _exit(99);
            }
        }
        CHECK(pid > 0 && torture_wait(pid) == 0);
        torture_work(50);
    }
    return argument;
}

static void spawn_storm(void)
{
    victim_in_threads(4, spawn_some);
}

/* ---- Clone by the kernel's own names ---- */

static char clone_stack[256 * 1024] __attribute__((aligned(64)));

static int child_of_clone(void *argument)
{
    torture_work(100);
    return (int)(intptr_t)argument;
}

/* Shares our memory, so it may not allocate (it shares our thread pointer too): it only ends. */
static int child_in_our_memory(void *argument)
{
    *(volatile int *)argument = 1;
    return 3;
}

/* In a raw clone nothing runs that the C library does around a fork. */
static void raw_clone(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid < 0) { /* a namespace that is not allowed here: the bare run prints the same */
        printf("clone %#lx: errno %d\n", flags, errno);
        return;
    }
    if (!pid) {
        torture_work(100);
        syscall(SYS_exit_group, 5);
    }
    CHECK(torture_wait((pid_t)pid) == 5 << 8);
}

static void clone_flags(void)
{
    torture_work(100);
    raw_clone(0); /* no signal at its end */
    raw_clone(SIGCHLD);
    raw_clone(SIGCHLD | CLONE_FILES);
    raw_clone(SIGCHLD | CLONE_FS);
    raw_clone(SIGCHLD | CLONE_IO | CLONE_SYSVSEM);
    raw_clone(SIGCHLD | CLONE_NEWPID);
    raw_clone(SIGCHLD | CLONE_NEWNS);
    raw_clone(SIGCHLD | CLONE_NEWIPC | CLONE_NEWUTS);
    raw_clone(SIGCHLD | CLONE_NEWUSER);

    volatile int ran = 0;
    int pid = clone(child_in_our_memory, clone_stack + sizeof clone_stack, CLONE_VM | SIGCHLD,
                    (void *)&ran);
    CHECK(pid > 0 && torture_wait(pid) == 3 << 8 && ran);
    ran = 0;
    pid = clone(child_in_our_memory, clone_stack + sizeof clone_stack,
                CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, (void *)&ran);
    CHECK(pid > 0 && torture_wait(pid) == 3 << 8 && ran);
    pid = clone(child_of_clone, clone_stack + sizeof clone_stack, SIGCHLD | CLONE_UNTRACED,
                (void *)4);
    CHECK(pid > 0 && torture_wait(pid) == 4 << 8);
    torture_work(100);
}

/* The collector's abstract name is one of the network namespace: from another it cannot be reached,
 * and the child runs unrecorded. */
static void new_network(void)
{
    torture_work(100);
    raw_clone(SIGCHLD | CLONE_NEWNET);
    torture_work(100);
    victim_fact("unfollowed", 1);
}

/* ---- Rights taken away ---- */

static void in_child(void (*body)(void))
{
    torture_work(100);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        body();
        torture_work(500);
        /* The grandchild connects with what rights are left. */
        pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            torture_work(300);
            _exit(6);
        }
        CHECK(torture_wait(pid) == 6 << 8);
        _exit(0);
    }
    CHECK(torture_wait(pid) == 0);
}

static void need_root(void)
{
    if (geteuid())
        TORTURE_SKIP("not root: there are no rights to take away");
}

static void drop_user(void)
{
    CHECK(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
          !setresuid(65534, 65534, 65534));
}

static void setuid_drop(void)
{
    need_root();
    in_child(drop_user);
    drop_user(); /* we too */
    torture_work(1000);
}

static void into_empty_root(void)
{
    char directory[] = "/tmp/torture.XXXXXX";
    CHECK(mkdtemp(directory));
    CHECK(!chroot(directory) && !chdir("/"));
}

static void chroot_empty(void)
{
    need_root();
    in_child(into_empty_root);
    char directory[] = "/tmp/torture.XXXXXX";
    CHECK(mkdtemp(directory));
    int old = open("/", O_RDONLY | O_DIRECTORY);
    CHECK(!chroot(directory));
    torture_work(500);
    CHECK(!fchdir(old) && !chroot(".") && !close(old)); /* the facts must be written */
    CHECK(!rmdir(directory));
}

static void make_undumpable(void)
{
    CHECK(!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

/* /proc says nothing of it to others any more (to root it does). */
static void undumpable(void)
{
    in_child(make_undumpable);
    make_undumpable();
    torture_work(1000);
}

/* A process without /proc. */
static void hide_proc(void)
{
    CHECK(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    CHECK(!mount("tmpfs", "/proc", "tmpfs", 0, NULL));
}

static void no_proc(void)
{
    need_root();
    if (unshare(CLONE_NEWNS))
        TORTURE_SKIP("no namespace may be made");
    in_child(hide_proc);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"fork_storm", fork_storm},     {"fork_under_threads", fork_under_threads},
        {"spawn_storm", spawn_storm},   {"clone_flags", clone_flags},
        {"new_network", new_network},   {"setuid_drop", setuid_drop},
        {"chroot_empty", chroot_empty}, {"undumpable", undumpable},
        {"no_proc", no_proc},           {NULL, NULL},
    };
    return torture_main(argc, argv, cases);
}
