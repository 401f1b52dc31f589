/* Keeps the last model of each program and packs rows against it (node_models.h). The database of a
 * model stays unpacked in memory, and whoever packs against it holds it. */
#include "collector/node_models.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/strbuf.h"
#include "profile/pack.h"

enum {
    MODEL_ROWS = 15,           /* that refer to one */
    MODEL_PROGRAMS = 4,        /* that have one */
    MODEL_MOST_BYTES = 8 << 20 /* of a larger database none is made: it would stay in memory */
};

struct node_model {
    size_t holders; /* under the lock; the list is one of them */
    size_t rows;    /* that refer to it */
    unsigned char *plain;
    size_t bytes;
    uint64_t at; /* in the file */
};

struct node_models_program {
    char *name;               /* NULL: the place is free */
    bool makes;               /* somebody is making its next model */
    struct node_model *model; /* NULL: none yet */
};

struct node_models {
    pthread_mutex_t lock; /* of all that follows; nothing is packed under it */
    struct node_models_program programs[MODEL_PROGRAMS];
};

struct node_models *node_models_new(void)
{
    struct node_models *models = memory_zeroed(1, sizeof *models);
    pthread_mutex_init(&models->lock, NULL);
    return models;
}

/* Under the lock. */
static void node_models_drop(struct node_model *model)
{
    if (!model || --model->holders)
        return;
    free(model->plain);
    free(model);
}

void node_models_free(struct node_models *models)
{
    if (!models)
        return;
    for (size_t i = 0; i < MODEL_PROGRAMS; i++) {
        node_models_drop(models->programs[i].model);
        free(models->programs[i].name);
    }
    pthread_mutex_destroy(&models->lock);
    free(models);
}

/* ---- Who is packed against what ------------------------------------------------------------ */

/* Under the lock. NULL: there are too many programs. */
static struct node_models_program *node_models_program(struct node_models *models, const char *name)
{
    for (size_t i = 0; i < MODEL_PROGRAMS; i++) {
        struct node_models_program *program = &models->programs[i];
        if (!program->name)
            program->name = memory_copy_string(name);
        if (!strcmp(program->name, name))
            return program;
    }
    return NULL;
}

/* A model to hold; NULL and `*makes`: the caller shall make the next one. */
static struct node_model *node_models_take(struct node_models *models, const char *name,
                                           bool *makes)
{
    struct node_model *model = NULL;
    pthread_mutex_lock(&models->lock);
    struct node_models_program *program = node_models_program(models, name);
    if (program && program->model && program->model->rows < MODEL_ROWS) {
        model = program->model;
        model->rows++;
        model->holders++;
    }
    *makes = program && !model && !program->makes;
    if (*makes)
        program->makes = true;
    pthread_mutex_unlock(&models->lock);
    return model;
}

static void node_models_release(struct node_models *models, struct node_model *model)
{
    pthread_mutex_lock(&models->lock);
    node_models_drop(model);
    pthread_mutex_unlock(&models->lock);
}

/* NULL: it did not become one. */
static void node_models_put(struct node_models *models, const char *name, struct node_model *model)
{
    pthread_mutex_lock(&models->lock);
    struct node_models_program *program = node_models_program(models, name);
    program->makes = false;
    if (model) {
        node_models_drop(program->model);
        program->model = model;
    }
    pthread_mutex_unlock(&models->lock);
}

/* ---- A row --------------------------------------------------------------------------------- */

static struct node_model *node_models_make(const void *packed, size_t count, uint64_t at)
{
    struct node_model model = {.holders = 1, .at = at};
    bool damaged = true;
    if (pack_plain_bytes(packed, count) > MODEL_MOST_BYTES ||
        pack_unpack(packed, count, "a profile", &model.plain, &model.bytes, &damaged))
        return NULL;
    if (damaged) {
        free(model.plain);
        return NULL;
    }
    struct node_model *made = memory_zeroed(1, sizeof *made);
    *made = model;
    return made;
}

static int node_models_append_against(const struct node_model *model,
                                      struct session_whole_file *file,
                                      const struct session_row *row, const char *said,
                                      struct session_whole_body body)
{
    struct strbuf again = STRBUF_INIT;
    uint64_t at;
    if (!pack_again(&again, body.profile, body.bytes,
                    &(struct pack_model){model->plain, model->bytes}) &&
        again.length < body.bytes)
        body = (struct session_whole_body){again.data, again.length, model->at};
    int error = session_whole_append(file, row, said, &body, &at);
    strbuf_release(&again);
    return error;
}

int node_models_append(struct node_models *models, struct session_whole_file *file,
                       const struct session_row *row, const char *said, const void *packed,
                       size_t count)
{
    struct session_whole_body body = {packed, count, 0};
    bool makes;
    uint64_t at;
    struct node_model *model = node_models_take(models, row->program, &makes);
    if (model) {
        int error = node_models_append_against(model, file, row, said, body);
        node_models_release(models, model);
        return error;
    }
    int error = session_whole_append(file, row, said, &body, &at);
    if (makes)
        node_models_put(models, row->program, error ? NULL : node_models_make(packed, count, at));
    return error;
}
