/* Resources that are made at once: nobody waits for another one, each is made once, and the tables
 * stay until the last has been made. What makes them is stood in for, so that it takes as long as a
 * test wants. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "../../files/profile/sample.h"
#include "../../files/profile/scratch.h"
#include "server/served_profile.h"

enum { ASKERS = 8, PATIENCE_S = 60 };

static atomic_uint calls, calls_of_top;
static atomic_bool holds_summary, in_vain, paths_gone;
static sem_t begun, answered, all_made;
static unsigned all; /* resources that are packed */

int __real_resources_make(const struct resources *resources, const char *name, struct strbuf *out,
                          enum resource_type *type, struct strbuf *why);
int __wrap_resources_make(const struct resources *resources, const char *name, struct strbuf *out,
                          enum resource_type *type, struct strbuf *why);

static void wait_for(sem_t *what)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (sem_timedwait(what, &until))
        in_vain = true;
}

int __wrap_resources_make(const struct resources *resources, const char *name, struct strbuf *out,
                          enum resource_type *type, struct strbuf *why)
{
    const struct timespec pause = {0, 100 * 1000 * 1000};
    if (!strcmp(name, "summary") && holds_summary) {
        sem_post(&begun);
        wait_for(&answered);
    }
    if (!strncmp(name, "source/", strlen("source/"))) {
        sem_post(&answered); /* only now does the packer begin */
        wait_for(&all_made);
        nanosleep(&pause, NULL); /* for who would not wait */
        paths_gone = !resources->profile->node_count;
    }
    int error = __real_resources_make(resources, name, out, type, why);
    calls_of_top += !strcmp(name, "top");
    if (++calls == all)
        sem_post(&all_made);
    return error;
}

static void count_resource(void *context, const char *name)
{
    (void)name;
    ++*(unsigned *)context;
}

static struct served_profile *open_sample(struct served_source *shown, bool hold_summary)
{
    static char path[200];
    struct profile *profile;
    struct resources resources;
    struct served_profile *served;
    strcpy(path, scratch("made.tmk"));
    *shown = (struct served_source){.path = path};
    assert_int_equal(sample_file(path, true), 0);
    assert_int_equal(profile_read(&profile, path), 0);
    assert_int_equal(resources_open(&resources, profile, NULL), 0);
    all = calls = calls_of_top = 0;
    resources_list(&resources, count_resource, &all);
    resources_close(&resources);
    profile_free(profile);
    holds_summary = hold_summary;
    in_vain = paths_gone = false;
    sem_init(&begun, 0, 0);
    sem_init(&answered, 0, 0);
    sem_init(&all_made, 0, 0);
    assert_int_equal(served_profile_open(&served, shown, NULL), 0);
    return served;
}

static void get(struct served_profile *served, const char *name)
{
    struct served_profile_body body;
    struct strbuf why = STRBUF_INIT;
    assert_int_equal(served_profile_get(served, name, &body, &why), 0);
    assert_true(body.bytes > 0);
    served_profile_release(&body);
    strbuf_release(&why);
}

/* The packer begins with the summary. */
static void what_is_asked_for_does_not_wait_for_what_is_packed(void **state)
{
    (void)state;
    struct served_source shown;
    struct served_profile *served = open_sample(&shown, true);
    wait_for(&begun);
    get(served, "top");
    sem_post(&answered);
    get(served, "summary");
    assert_false(in_vain);
    served_profile_close(served);
}

static void *ask_for_top(void *served)
{
    get(served, "top");
    return NULL;
}

static void what_many_ask_for_is_made_once(void **state)
{
    (void)state;
    struct served_source shown;
    pthread_t askers[ASKERS];
    struct served_profile *served = open_sample(&shown, false);
    for (int i = 0; i < ASKERS; i++)
        pthread_create(&askers[i], NULL, ask_for_top, served);
    for (int i = 0; i < ASKERS; i++)
        pthread_join(askers[i], NULL);
    assert_int_equal(calls_of_top, 1);
    served_profile_close(served);
}

static void tables_stay_while_something_is_made_of_them(void **state)
{
    (void)state;
    struct served_source shown;
    struct served_profile *served = open_sample(&shown, true);
    get(served, "source/0");
    assert_false(in_vain);
    assert_false(paths_gone);
    served_profile_close(served);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_does_not_wait_for_what_is_packed),
        cmocka_unit_test(what_many_ask_for_is_made_once),
        cmocka_unit_test(tables_stay_while_something_is_made_of_them),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
