/* Names are compared one by one: a node has few jobs. */
#include "compat/ldms/producer.h"

#include "base/vec.h"

#include <string.h>

#define NAME_MAX_SIZE 1024
#define JOBS_MAX_SIZE (1u << 20)

static const char *const placeholders[] = { "%{user}", "%{host}", "%{job}" };
enum { USER, HOST, JOB, PLACEHOLDERS };

static size_t placeholder_at(const char *text)
{
    size_t i = 0;
    while (i < PLACEHOLDERS && strncmp(text, placeholders[i], strlen(placeholders[i])) != 0)
        i++;
    return i;
}

enum err ldms_producer_check(const char *template, struct buf *error)
{
    if (!*template || strpbrk(template, "/, \t\n\"")) {
        buf_add_text(error, "invalid producer (expected a name without '/', ',', quotes and spaces)");
        return USAGE;
    }
    for (const char *at = strchr(template, '%'); at; at = strchr(at + 1, '%'))
        if (placeholder_at(at) == PLACEHOLDERS) {
            buf_printf(error, "unknown placeholder %.40s in producer (expected %%{user}, %%{host} or %%{job})", at);
            return USAGE;
        }
    return OK;
}

static bool needs(const char *template, size_t placeholder)
{
    return strstr(template, placeholders[placeholder]) != NULL;
}

/* job may be NULL. */
static void add_name(struct buf *name, const char *template, const char *host, const struct job *job)
{
    bool is_known = job && (*job->user || !needs(template, USER));
    if (!is_known && (needs(template, USER) || needs(template, JOB)))
        template = LDMS_PRODUCER;
    const char *const values[] = { [USER] = job ? job->user : "", [HOST] = host, [JOB] = job ? job->id : "" };
    for (const char *at = template; *at;) {
        size_t i = placeholder_at(at);
        if (i == PLACEHOLDERS) {
            buf_add_char(name, *at++);
            continue;
        }
        buf_add_text(name, values[i]);
        at += strlen(placeholders[i]);
    }
}

static struct ldms_producer *find(const struct ldms_producers *producers, const char *name)
{
    for (size_t i = 0; i < producers->count; i++)
        if (strcmp(buf_text(&producers->items[i].name), name) == 0)
            return &producers->items[i];
    return NULL;
}

static const char *name_of(struct ldms_producers *producers, const char *template, const char *host, const struct job *job)
{
    if (!producers->scratch.max)
        buf_init(&producers->scratch, NAME_MAX_SIZE);
    buf_reset(&producers->scratch);
    add_name(&producers->scratch, template, host, job);
    return buf_text(&producers->scratch);
}

/* Buffers of earlier items are reused. NULL: out of memory. */
static struct ldms_producer *add(struct ldms_producers *producers, const char *name)
{
    size_t before = producers->capacity;
    if (array_reserve(producers->items, producers->capacity, producers->count + 1, VEC_MAX))
        return NULL;
    for (size_t i = before; i < producers->capacity; i++) {
        producers->items[i] = (struct ldms_producer){ 0 };
        buf_init(&producers->items[i].name, NAME_MAX_SIZE);
        buf_init(&producers->items[i].jobs, JOBS_MAX_SIZE);
    }
    struct ldms_producer *new = &producers->items[producers->count++];
    buf_reset(&new->name);
    buf_reset(&new->jobs);
    buf_add_text(&new->name, name);
    new->user = NULL;
    return new;
}

static enum err add_job(struct ldms_producers *producers, const char *name, const struct job *job)
{
    struct ldms_producer *producer = find(producers, name);
    if (!producer)
        producer = add(producers, name);
    if (!producer)
        return NOMEM;
    if (!producer->jobs.size)
        producer->user = job->user;
    else if (producer->user && strcmp(producer->user, job->user) != 0)
        producer->user = NULL;
    if (producer->jobs.size)
        buf_add_char(&producer->jobs, ' ');
    buf_add_text(&producer->jobs, job->id);
    return OK;
}

enum err ldms_producers_make(struct ldms_producers *producers, const char *template, const char *host,
                             const struct job *const *jobs, size_t count)
{
    enum err err = OK;
    producers->count = 0;
    for (size_t i = 0; i < count && !err; i++)
        err = add_job(producers, name_of(producers, template, host, jobs[i]), jobs[i]);
    if (!count && !add(producers, name_of(producers, template, host, NULL)))
        err = NOMEM;
    return err;
}

const struct ldms_producer *ldms_producers_find(struct ldms_producers *producers, const char *template, const char *host,
                                                const struct job *job)
{
    return find(producers, name_of(producers, template, host, job));
}

void ldms_producers_clear(struct ldms_producers *producers)
{
    for (size_t i = 0; i < producers->capacity; i++) {
        buf_clear(&producers->items[i].name);
        buf_clear(&producers->items[i].jobs);
    }
    free(producers->items);
    buf_clear(&producers->scratch);
    *producers = (struct ldms_producers){ 0 };
}
