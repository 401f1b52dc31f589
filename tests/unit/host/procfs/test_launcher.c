/* Ranks and jobs as launchers tell them. Environments are real ones: a child executes `sleep` with
 * the variables, and /proc is asked. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "procfs/launcher.h"

/* In the midst of an exec the program is there already, and its environment not yet. */
static bool has_environment(pid_t pid)
{
    char path[32], byte;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "r");
    bool has = file && fread(&byte, 1, 1, file) == 1;
    if (file)
        fclose(file);
    return has;
}

static void wait_for_exec(pid_t pid, const char *expected)
{
    char path[32], target[256];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    for (int tries = 0; tries < 2000; tries++) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strstr(target, expected) && has_environment(pid))
            return;
        usleep(5000);
    }
    fail_msg("%d does not execute %s", (int)pid, expected);
}

static pid_t start(char *const environment[])
{
    pid_t pid = fork();
    if (pid == 0) {
        char *const arguments[] = {(char *)"sleep", (char *)"100", NULL};
        execve("/bin/sleep", arguments, environment);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* What a process with these variables is. */
static struct launcher with(const char *const *variables)
{
    struct launcher launcher;
    pid_t pid = start((char *const *)variables);
    wait_for_exec(pid, "sleep");
    launcher_of(&launcher, pid);
    stop(pid);
    return launcher;
}
#define WITH(...) with((const char *const[]){__VA_ARGS__, NULL})

static void assert_place(const struct launcher *launcher, const char *name, int rank, int ranks,
                         int local_rank, int node, const char *job_id)
{
    assert_non_null(launcher->name);
    assert_string_equal(launcher->name, name);
    assert_int_equal(launcher->rank, rank);
    assert_int_equal(launcher->ranks, ranks);
    assert_int_equal(launcher->local_rank, local_rank);
    assert_int_equal(launcher->node, node);
    if (job_id)
        assert_string_equal(launcher->job_id, job_id);
}

static void open_mpi_4(void **state)
{
    (void)state;
    struct launcher launcher =
        WITH("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
             "OMPI_MCA_ess_base_jobid=262799361", "PMIX_RANK=3", "PMIX_NAMESPACE=262799361",
             "OMPI_MCA_orte_precondition_transports=09d51b632506fafd-932025bf12a5db2c");
    assert_place(&launcher, "openmpi", 3, 8, 1, -1, NULL);
    assert_int_equal(strncmp(launcher.job_id, "openmpi-262799361-", 18), 0);
    assert_false(launcher.id_by_ancestor);
    struct launcher other =
        WITH("OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "PMIX_NAMESPACE=262799361",
             "OMPI_MCA_orte_precondition_transports=09d51b632506fafd-932025bf12a5db2d");
    assert_string_not_equal(launcher.job_id, other.job_id);
}

static void open_mpi_5(void **state)
{
    (void)state;
    struct launcher launcher =
        WITH("PMIX_RANK=0", "PMIX_NAMESPACE=prterun-node 7/x-811@1", "OMPI_COMM_WORLD_RANK=0",
             "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0");
    assert_place(&launcher, "openmpi", 0, 2, 0, -1, "openmpi-prterun-node_7_x-811@1");
}

static void slurm_steps(void **state)
{
    (void)state;
    struct launcher launcher =
        WITH("SLURM_JOB_ID=77", "SLURM_STEP_ID=2", "SLURM_PROCID=5", "SLURM_NTASKS=99",
             "SLURM_STEP_NUM_TASKS=6", "SLURM_LOCALID=1", "SLURM_NODEID=3");
    assert_place(&launcher, "slurm", 5, 6, 1, 3, "slurm-77.2");
    /* by srun --mpi=pmi2 and --mpi=pmix: set at the same time */
    launcher = WITH("PMI_RANK=5", "PMI_SIZE=6", "PMIX_RANK=5", "PMIX_NAMESPACE=slurm.pmix.77.2",
                    "SLURM_JOB_ID=77", "SLURM_STEP_ID=2", "SLURM_PROCID=5", "SLURM_NTASKS=6");
    assert_place(&launcher, "slurm", 5, 6, -1, -1, "slurm-77.2");
    /* a batch script is no rank */
    launcher = WITH("SLURM_JOB_ID=77", "SLURM_PROCID=0", "SLURM_NTASKS=6", "SLURM_NODEID=0");
    assert_null(launcher.name);
    assert_int_equal(launcher.rank, -1);
}

static void the_others(void **state)
{
    (void)state;
    struct launcher launcher =
        WITH("MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_SIZE=2", "MV2_COMM_WORLD_LOCAL_RANK=1");
    assert_place(&launcher, "mvapich", 1, 2, 1, -1, NULL);
    launcher = WITH("PALS_RANKID=9", "PALS_NODEID=1", "PALS_LOCAL_RANKID=4", "PALS_APID=abc-1",
                    "PMI_RANK=9", "PMI_SIZE=10");
    assert_place(&launcher, "pals", 9, 10, 4, 1, "pals-abc-1");
    launcher = WITH("ALPS_APP_PE=4", "ALPS_APP_ID=3141");
    assert_place(&launcher, "alps", 4, -1, -1, -1, "alps-3141");
    launcher =
        WITH("FLUX_TASK_RANK=2", "FLUX_TASK_LOCAL_ID=0", "FLUX_JOB_SIZE=4", "FLUX_JOB_ID=f2Xy");
    assert_place(&launcher, "flux", 2, 4, 0, -1, "flux-f2Xy");
    launcher =
        WITH("JSM_NAMESPACE_RANK=2", "JSM_NAMESPACE_SIZE=4", "PMIX_RANK=2", "PMIX_NAMESPACE=12");
    assert_place(&launcher, "jsrun", 2, 4, -1, -1, "jsrun-12");
    launcher = WITH("PMIX_RANK=2", "PMIX_NAMESPACE=ns");
    assert_place(&launcher, "pmix", 2, -1, -1, -1, "pmix-ns");
}

static void what_is_no_number_is_no_rank(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",           "-1", "x", "3x", "99999999999999999999",
                                        "4294967296", " 3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "PMI_RANK=%s", wrong[i]);
        struct launcher launcher = WITH(variable, "PMI_SIZE=4");
        assert_null(launcher.name);
        assert_string_equal(launcher.job_id, "");
    }
    struct launcher launcher = WITH("PMI_RANK=4", "PMI_SIZE=4");
    assert_place(&launcher, "hydra", 4, -1, -1, -1, NULL);
    launcher = WITH("OTHER_PMI_RANK=4", "PMI_RANKS=4");
    assert_null(launcher.name);
}

/* Nothing in the environment names the job: the process that set the ranks does. */
static void ranks_of_one_starter_are_one_job(void **state)
{
    (void)state;
    struct launcher first = WITH("PMI_RANK=0", "PMI_SIZE=2");
    struct launcher second = WITH("PMI_RANK=1", "PMI_SIZE=2");
    assert_true(first.id_by_ancestor);
    assert_string_equal(first.job_id, second.job_id);
    char own[32];
    snprintf(own, sizeof own, "-%d-", (int)getpid());
    assert_non_null(strstr(first.job_id, own));
}

/* sh -c '…' with `variables`, of which the process to ask about is the one that says its pid. */
static struct launcher from_script(const char *script, const char *executes)
{
    struct launcher launcher;
    int ends[2], number = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        setpgid(0, 0);
        execl("/bin/sh", "sh", "-c", script, NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    assert_int_equal(fscanf(from, "%d", &number), 1);
    wait_for_exec(number, executes);
    launcher_of(&launcher, number);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    fclose(from);
    return launcher;
}

static void children_of_a_rank_are_of_the_rank(void **state)
{
    (void)state;
    struct launcher launcher = from_script(
        "PMIX_NAMESPACE=a PMIX_RANK=2 sh -c 'sh -c \"sleep 100 & echo \\$!; wait\"; :'", "sleep");
    assert_place(&launcher, "pmix", 2, -1, -1, -1, "pmix-a");
}

static void the_inner_launcher_counts(void **state)
{
    (void)state;
    /* Hydra within a rank of Open MPI; the table alone would say openmpi */
    struct launcher launcher =
        from_script("export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=a; "
                    "sh -c 'PMI_RANK=3 PMI_SIZE=4 sleep 100 & echo $!; wait'",
                    "sleep");
    assert_place(&launcher, "hydra", 3, 4, -1, -1, NULL);
    /* Open MPI within a step of Slurm */
    launcher = from_script("export SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=0; "
                           "sh -c 'OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=b "
                           "sleep 100 & echo $!; wait'",
                           "sleep");
    assert_place(&launcher, "openmpi", 3, 4, -1, -1, "openmpi-b");
    /* Slurm within a rank of Open MPI */
    launcher = from_script("export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=a; "
                           "sh -c 'SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=7 sleep 100 & "
                           "echo $!; wait'",
                           "sleep");
    assert_place(&launcher, "slurm", 7, -1, -1, -1, "slurm-1.0");
}

static void launchers_have_no_rank(void **state)
{
    (void)state;
    char directory[] = "/tmp/tidemark-launcher.XXXXXX", command[256];
    assert_non_null(mkdtemp(directory));
    snprintf(command, sizeof command,
             "cp /bin/sleep %s/mpirun; OMPI_COMM_WORLD_RANK=0 %s/mpirun 100 & echo $!; wait",
             directory, directory);
    struct launcher launcher = from_script(command, "mpirun");
    assert_true(launcher.is_launcher);
    assert_null(launcher.name);
    assert_int_equal(launcher.rank, -1);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

/* The proxy is found by what it was told, and names the job on all machines. */
static void hydra_jobs_are_named_by_their_port(void **state)
{
    (void)state;
    struct launcher launcher = from_script(
        "sh -c 'PMI_RANK=1 PMI_SIZE=2 sleep 100 & echo $!; wait' proxy --control-port head:4711 "
        "--pgid 0",
        "sleep");
    assert_place(&launcher, "hydra", 1, 2, -1, -1, "hydra-head_4711");
    launcher =
        from_script("sh -c 'PBS_JOBID=9.pbs PMI_RANK=1 PMI_SIZE=2 sleep 100 & echo $!; wait' proxy "
                    "--control-port head:4711 --pgid 3",
                    "sleep");
    assert_place(&launcher, "hydra", 1, 2, -1, -1, "hydra-9.pbs-head_4711-3");
}

static void a_long_id_stays_an_id_of_its_own(void **state)
{
    (void)state;
    char one[1200], other[1200];
    snprintf(one, sizeof one, "PMIX_NAMESPACE=%01000d-1", 0);
    snprintf(other, sizeof other, "PMIX_NAMESPACE=%01000d-2", 0);
    struct launcher a = WITH("PMIX_RANK=0", one), b = WITH("PMIX_RANK=0", other);
    assert_true(strlen(a.job_id) < LAUNCHER_ID_BYTES);
    assert_string_not_equal(a.job_id, b.job_id);
}

static void a_process_that_is_gone_has_none(void **state)
{
    (void)state;
    struct launcher launcher;
    char *const environment[] = {(char *)"PMI_RANK=0", NULL};
    pid_t pid = start(environment);
    stop(pid);
    launcher_of(&launcher, pid);
    assert_null(launcher.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_mpi_4),
        cmocka_unit_test(open_mpi_5),
        cmocka_unit_test(slurm_steps),
        cmocka_unit_test(the_others),
        cmocka_unit_test(what_is_no_number_is_no_rank),
        cmocka_unit_test(ranks_of_one_starter_are_one_job),
        cmocka_unit_test(children_of_a_rank_are_of_the_rank),
        cmocka_unit_test(the_inner_launcher_counts),
        cmocka_unit_test(launchers_have_no_rank),
        cmocka_unit_test(hydra_jobs_are_named_by_their_port),
        cmocka_unit_test(a_long_id_stays_an_id_of_its_own),
        cmocka_unit_test(a_process_that_is_gone_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
