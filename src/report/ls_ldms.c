/* One item becomes several: the sets of a node are listed once per producer. */
#include "report/ls.h"

#include "base/vec.h"
#include "compat/ldms/dstat.h"
#include "compat/ldms/producer.h"

#include <stdlib.h>
#include <string.h>

struct expansion {
    struct sets_answer *sets;
    const char *template, *host;
    struct job *jobs; /* of host */
    const struct job **pointers;
    size_t job_count;
    struct ldms_producers producers;
    struct sets_item *items;
    size_t count, capacity;
};

static const char *keep(struct sets_answer *sets, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = sets_client_allocate(sets, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static const char *host_of(const struct sets_answer *sets, const char *host)
{
    return host ? host : sets->host;
}

/* Items of a host follow one another within a set. */
static enum err select_host(struct expansion *expansion, const char *host)
{
    const struct sets_answer *sets = expansion->sets;
    if (expansion->host && strcmp(expansion->host, host) == 0)
        return OK;
    expansion->host = host;
    expansion->job_count = 0;
    for (size_t i = 0; i < sets->job_count; i++) {
        if (strcmp(host_of(sets, sets->jobs[i].host), host) != 0)
            continue;
        struct job *job = &expansion->jobs[expansion->job_count];
        *job = (struct job){ .id = sets->jobs[i].id, .user = sets->jobs[i].user };
        expansion->pointers[expansion->job_count++] = job;
    }
    return ldms_producers_make(&expansion->producers, expansion->template, host, expansion->pointers, expansion->job_count);
}

static enum err add(struct expansion *expansion, const struct sets_item *item, const struct ldms_producer *producer)
{
    if (array_reserve(expansion->items, expansion->capacity, expansion->count + 1, VEC_MAX))
        return NOMEM;
    struct sets_item *new = &expansion->items[expansion->count];
    *new = *item;
    if (producer) {
        new->producer = keep(expansion->sets, buf_text(&producer->name));
        new->job_ids = item->job ? item->job : keep(expansion->sets, buf_text(&producer->jobs));
        if (!new->producer || !new->job_ids)
            return NOMEM;
    }
    expansion->count++;
    return OK;
}

static enum err add_item(struct expansion *expansion, const struct sets_item *item)
{
    enum err err = select_host(expansion, host_of(expansion->sets, item->host));
    if (err)
        return err;
    if (item->job) {
        const struct job job = { .id = item->job, .user = item->user ? item->user : "" };
        return add(expansion, item,
                   ldms_producers_find(&expansion->producers, expansion->template, expansion->host, &job));
    }
    for (size_t i = 0; i < expansion->producers.count && !err; i++)
        err = add(expansion, item, &expansion->producers.items[i]);
    return err;
}

static enum err convert_self(struct sets_answer *sets, struct sets_item *item)
{
    union value *values = sets_client_allocate(sets, LDMS_DSTAT_SIZE * sizeof *values);
    uint8_t *known = sets_client_allocate(sets, LDMS_DSTAT_SIZE);
    if (!values || !known)
        return NOMEM;
    ldms_dstat_fill(values, known, item->schema, item->values, item->known);
    item->schema = &ldms_dstat_set;
    item->values = values;
    item->known = known;
    return OK;
}

enum err ls_convert_ldms(struct sets_answer *sets)
{
    struct expansion expansion = { .sets = sets, .template = sets->producer ? sets->producer : LDMS_PRODUCER };
    expansion.jobs = calloc(sets->job_count + 1, sizeof *expansion.jobs);
    expansion.pointers = calloc(sets->job_count + 1, sizeof *expansion.pointers);
    enum err err = expansion.jobs && expansion.pointers ? OK : NOMEM;
    for (size_t i = 0; i < sets->count && !err; i++) {
        struct sets_item *item = &sets->items[i];
        if (!item->job && item->values && strcmp(item->schema->name, "self") == 0)
            err = convert_self(sets, item);
        if (!err)
            err = add_item(&expansion, item);
    }
    ldms_producers_clear(&expansion.producers);
    free(expansion.jobs);
    free(expansion.pointers);
    if (err) {
        free(expansion.items);
        return err;
    }
    free(sets->items);
    sets->items = expansion.items;
    sets->count = expansion.count;
    return OK;
}
