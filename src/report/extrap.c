/* All jobs are read first, since each gets the metrics of all. */
#include "report/extrap.h"

#include "base/parse.h"
#include "base/vec.h"
#include "compat/tau/python_text.h"
#include "report/extrap_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAD_RETURN "tau_metric_proxy_run_total{operation=\"badreturn\"}"

void extrap_init(struct extrap *extrap)
{
    *extrap = (struct extrap){ 0 };
}

void extrap_clear(struct extrap *extrap)
{
    for (size_t i = 0; i < extrap->count; i++) {
        free(extrap->jobs[i].id);
        metric_list_clear(&extrap->jobs[i].metrics);
    }
    free(extrap->jobs);
    extrap_init(extrap);
}

static enum err add_job(struct extrap *extrap, const char *id, double size, struct extrap_job **job)
{
    if (array_reserve(extrap->jobs, extrap->capacity, extrap->count + 1, VEC_MAX))
        return NOMEM;
    *job = &extrap->jobs[extrap->count];
    **job = (struct extrap_job){ .id = strdup(id), .size = size };
    metric_list_init(&(*job)->metrics);
    extrap->count += (*job)->id != NULL;
    return (*job)->id ? OK : NOMEM;
}

static enum err each_series(void *context, const char *host, const struct run_series *series)
{
    return job_metrics_add(context, host, series);
}

/* "case:7;ranks:64" */
static double tagged_size(const char *tags)
{
    const char *at = tags;
    uint64_t number;
    char value[24];
    while (at && strncmp(at, "ranks:", 6) != 0) {
        at = strchr(at, ';');
        at += at != NULL;
    }
    size_t size = at ? strcspn(at + 6, ";") : 0;
    if (!size || size >= sizeof value)
        return NAN;
    memcpy(value, at + 6, size);
    value[size] = '\0';
    return parse_u64(value, &number) || !number ? NAN : (double)number;
}

static double size_of(const struct store_job *job, const struct mpi *mpi)
{
    double tagged = tagged_size(job->tags);
    if (mpi->rank_count)
        return isnan(mpi->rank_total) ? (double)mpi->rank_count : mpi->rank_total;
    if (!isnan(tagged))
        return tagged;
    return job->cores_allowed_milli ? (double)job->cores_allowed_milli / 1000 : job->cores ? (double)job->cores : NAN;
}

enum err extrap_add_job(struct extrap *extrap, struct store *store, const struct store_job *job, const char **reason)
{
    struct job_metrics metrics;
    struct mpi mpi = { 0 };
    struct extrap_job *made;
    *reason = !job->ended                                                       ? "unfinished"
           : job->status_known && (job->exit_code != 0 || job->exit_signal != 0) ? "failed"
                                                                             : NULL;
    if (*reason)
        return OK;
    job_metrics_init(&metrics);
    enum err err = store_series(store, job->row, each_series, &metrics);
    if (!err)
        err = mpi_read(&mpi, &metrics);
    double size = err ? NAN : size_of(job, &mpi);
    if (!err && isnan(size))
        *reason = "unknown size: it has no MPI ranks, and no tag such as ranks:64";
    else if (!err)
        err = add_job(extrap, job->job_id, size, &made);
    if (!err && !*reason)
        err = extrap_store_metrics(&made->metrics, job, &metrics, &mpi);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
    return err;
}

enum err extrap_add_profile(struct extrap *extrap, const struct tau_profile *profile, const char **reason)
{
    struct extrap_job *made;
    *reason = profile->job.size <= 0 ? "unknown number of ranks" : NULL;
    for (size_t i = 0; i < profile->count && !*reason; i++)
        if (strcmp(profile->metrics[i].event.name, BAD_RETURN) == 0 && profile->metrics[i].event.value > 0)
            *reason = "a command in it failed";
    if (*reason)
        return OK;
    enum err err = add_job(extrap, profile->job.id, profile->job.size, &made);
    for (size_t i = 0; i < profile->count && !err; i++)
        err = extrap_store_add(&made->metrics, profile->metrics[i].event.name, profile->metrics[i].event.value);
    return err;
}

/* --- writing --- */

static int by_size(const void *a, const void *b)
{
    const struct extrap_job *left = a, *right = b;
    return left->size < right->size ? -1 : left->size > right->size ? 1 : strcmp(left->id, right->id);
}

static int by_name(const void *a, const void *b)
{
    const struct metric_item *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* Each name once. Names with an infinite value are left out: Extra-P does not accept it, and 0 would be wrong. */
static void keep_finite_names(struct metric_list *names)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < names->count; i = next) {
        bool is_finite = true;
        for (next = i; next < names->count && strcmp(names->items[next].name, names->items[i].name) == 0; next++)
            is_finite = is_finite && isfinite(names->items[next].value);
        if (is_finite)
            names->items[kept++] = names->items[i];
    }
    names->count = kept;
}

/* All names of all jobs, unique and sorted. Borrows the strings. */
static enum err all_names(const struct extrap *extrap, struct metric_list *names)
{
    for (size_t i = 0; i < extrap->count; i++)
        for (size_t k = 0; k < extrap->jobs[i].metrics.count; k++) {
            struct metric_item *item = metric_list_add(names);
            if (!item)
                return NOMEM;
            *item = extrap->jobs[i].metrics.items[k];
        }
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, by_name);
    keep_finite_names(names);
    return OK;
}

/* x{a="b",c="d"} is x->a->"b"->c->"d". */
static void add_callpath(struct buf *path, const char *name)
{
    const char *brace = strchr(name, '{');
    bool is_quoted = false;
    buf_add(path, name, brace ? (size_t)(brace - name) : strlen(name));
    if (!brace)
        return;
    buf_add_text(path, "->");
    for (const char *at = brace + 1; *at && (is_quoted || *at != '}'); at++) {
        if (*at == '\\' && is_quoted && at[1])
            buf_add_char(path, *at++);
        else if (*at == '"')
            is_quoted = !is_quoted;
        if (!is_quoted && (*at == '=' || *at == ','))
            buf_add_text(path, "->");
        else
            buf_add_char(path, *at);
    }
}

/* "size" is a word of "read_size_total{...}", but not of "resizes_total". */
static bool has_word(const char *name, const char *word)
{
    size_t end = strcspn(name, "{");
    for (size_t at = 0, size; at < end; at += size + 1) {
        size = strcspn(name + at, "_{");
        if (size == strlen(word) && memcmp(name + at, word, size) == 0)
            return true;
    }
    return false;
}

static const char *kind_of(const char *name)
{
    struct { const char *word, *kind; } kinds[] = { { "hits", "Hits" }, { "calls", "Hits" }, { "time", "Time (s)" },
                                                    { "seconds", "Time (s)" }, { "size", "Size (B)" }, { "bytes", "Size (B)" } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has_word(name, kinds[i].word))
            return kinds[i].kind;
    return "other";
}

static void add_line(struct buf *out, const char *name, double size, double value, bool has_callpath)
{
    struct buf path;
    buf_printf(out, "{\"params\":{\"%s\":%.15g},", has_callpath ? "Processes" : "ranks", size);
    if (has_callpath) {
        buf_init(&path, 1u << 16);
        add_callpath(&path, name);
        buf_add_text(out, "\"callpath\":");
        python_text_json(out, buf_text(&path));
        buf_add_char(out, ',');
        buf_clear(&path);
    }
    buf_add_text(out, "\"metric\":");
    python_text_json(out, has_callpath ? kind_of(name) : name);
    buf_add_text(out, ",\"value\":");
    python_text_float(out, value);
    buf_add_text(out, "}\n");
}

static enum err write_job(struct extrap_job *job, const struct metric_list *names, struct output *stream, bool has_callpath)
{
    enum err err = OK;
    size_t at = 0;
    if (job->metrics.count)
        qsort(job->metrics.items, job->metrics.count, sizeof *job->metrics.items, by_name);
    for (size_t i = 0; i < names->count && !err; i++) {
        const char *name = names->items[i].name;
        while (at < job->metrics.count && strcmp(job->metrics.items[at].name, name) < 0)
            at++;
        bool is_known = at < job->metrics.count && strcmp(job->metrics.items[at].name, name) == 0;
        add_line(&stream->out, name, job->size, is_known ? job->metrics.items[at].value : 0, has_callpath);
        err = output_write_if_large(stream);
    }
    return err;
}

enum err extrap_write(struct extrap *extrap, struct output *stream, bool has_callpath)
{
    struct metric_list names;
    metric_list_init(&names);
    if (extrap->count)
        qsort(extrap->jobs, extrap->count, sizeof *extrap->jobs, by_size);
    enum err err = all_names(extrap, &names);
    for (size_t i = 0; i < extrap->count && !err; i++)
        err = write_job(&extrap->jobs[i], &names, stream, has_callpath);
    metric_list_clear(&names);
    return err ? err : output_write(stream);
}
