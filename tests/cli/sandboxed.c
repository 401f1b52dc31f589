/* sandboxed [--no-pidfd|--no-clock] COMMAND…: runs it where userfaultfd, pidfd_open, or clock_gettime, is a system
 * call that the kernel does not know, as before Linux 4.3 or 5.3 and in containers' filters. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int pidfd = argc > 1 && !strcmp(argv[1], "--no-pidfd"),
        clock = argc > 1 && !strcmp(argv[1], "--no-clock");
    int first = 1 + (pidfd || clock);
    unsigned call = pidfd ? SYS_pidfd_open : clock ? SYS_clock_gettime : SYS_userfaultfd;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (argc <= first || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 99;
    execvp(argv[first], argv + first);
    perror(argv[first]);
    return 98;
}
