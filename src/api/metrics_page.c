/* Entries are selected and labelled once; then each family is written over all entries that have it, because
 * Prometheus wants a family in one piece. Sets of one name may have different metrics (another sampler, other
 * events): their families are merged by name. */
#include "api/metrics_page.h"

#include "base/map.h"
#include "base/vec.h"
#include "model/set_index.h"
#include "api/metrics_columns.h"
#include "model/prom_label.h"
#include "model/prom_name.h"
#include "model/prom_number.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_MAX (256u << 20)

struct item {
    const union value *values;
    const uint8_t *known;
    size_t run; /* index of its run */
    size_t label_at, label_size;
};

/* Consecutive items of one set. */
struct set_items {
    const struct set *set;
    size_t first, count;
    bool is_done;
};

struct writer {
    struct buf *out;
    enum metrics_format format;
    struct buf labels;
    struct item *items;
    size_t item_count, item_capacity, series, left_out;
    size_t job_count; /* number of visible jobs on the page */
    struct set_index sets; /* one per run */
    struct set_items *runs;
    size_t run_count;
    struct map families; /* hashes of the families written; the items are unused */
};

/* 64-bit keyed hashes: equal hashes mean equal names. */
static bool is_same_hash(const void *item, const void *key)
{
    (void)item;
    (void)key;
    return true;
}

/* Prometheus rejects a page with a duplicate family, so the second one is skipped. In OpenMetrics a counter and a
 * gauge of one name are the same family; in the text format "_total" distinguishes them. */
static bool is_new_family(struct writer *writer, const struct prom_name *name)
{
    uint64_t hash = map_hash_string(name->is_counter && writer->format == METRICS_TEXT, name->text);
    return !map_find(&writer->families, hash, is_same_hash, NULL)
           && !map_add(&writer->families, hash, map_item_of_index(0), VEC_MAX);
}

static size_t series_of(const struct view_entry *entry)
{
    size_t count = 0;
    for (size_t i = 0; i < entry->set->size; i++)
        count += entry->known[i];
    return count;
}

static bool add_item(struct writer *writer, const struct view_entry *entry)
{
    if (array_reserve(writer->items, writer->item_capacity, writer->item_count + 1, VEC_MAX))
        return false;
    struct item *item = &writer->items[writer->item_count++];
    *item = (struct item){ .values = entry->values, .known = entry->known, .label_at = writer->labels.size };
    prom_label_entry(&writer->labels, entry);
    item->label_size = writer->labels.size - item->label_at;
    return !set_index_of(&writer->sets, entry->set, &item->run);
}

/* Number of series of nodes, which have priority over those of jobs. */
static size_t series_of_nodes(const struct view *view)
{
    struct view_entry entry;
    struct view_position at = { 0 };
    size_t count = 0;
    while (view_next(view, &at, &entry))
        count += entry.job ? 0 : series_of(&entry);
    return count;
}

/* One fact of all jobs: a family. */
struct job_fact {
    struct prom_name name;
    const char *help;
    size_t offset; /* in struct job; 0: the fact is that it is there */
};

#define NAME(literal, base_unit, count) { .text = literal, .size = sizeof literal - 1, .unit = base_unit, .times = 1, \
                                          .decimals = count }
static const struct job_fact job_facts[] = {
    { NAME("sonde_job_info", "", 0), "job on the node", 0 },
    { NAME("sonde_job_start_time_seconds", "seconds", 9), "start time of the job, in seconds since the epoch",
      offsetof(struct job, start_ns) },
    { NAME("sonde_job_cores_allowed", "", 3), "cores allocated to the job", offsetof(struct job, cores_milli) },
    { NAME("sonde_job_memory_limit_bytes", "bytes", 0), "memory limit of the job",
      offsetof(struct job, memory_bytes) },
};

static bool has_fact(const struct job *job, const struct job_fact *fact, uint64_t *value)
{
    *value = 1;
    if (fact->offset)
        memcpy(value, (const char *)job + fact->offset, sizeof *value);
    return *value != 0;
}

static size_t facts_of(const struct job *job)
{
    uint64_t value;
    size_t count = 0;
    for (size_t i = 0; i < sizeof job_facts / sizeof *job_facts; i++)
        count += has_fact(job, &job_facts[i], &value);
    return count;
}

/* Selects jobs in order until series_max is reached. */
static void select_jobs(struct writer *writer, const struct view *view, size_t *capacity)
{
    const struct job *job;
    const char *host;
    struct view_position at = { 0 };
    bool is_full = false;
    while (view_next_job(view, &at, &host, &job)) {
        size_t series = view_shows_job(view, job) ? facts_of(job) : 0;
        is_full = is_full || series > *capacity;
        *(is_full ? &writer->left_out : &writer->series) += series;
        *capacity -= is_full ? 0 : series;
        writer->job_count += !is_full && series;
    }
}

struct capacity {
    size_t node, jobs;
};

static struct capacity quota_of(const struct view *view, size_t series_max)
{
    size_t node = series_of_nodes(view);
    return (struct capacity){ .node = series_max, .jobs = series_max > node ? series_max - node : 0 };
}

static bool select_entries(struct writer *writer, const struct view *view, size_t series_max)
{
    struct capacity capacity = quota_of(view, series_max);
    select_jobs(writer, view, &capacity.jobs);
    struct view_entry entry;
    struct view_position at = { 0 };
    while (view_next(view, &at, &entry)) {
        size_t series = series_of(&entry), *left = entry.job ? &capacity.jobs : &capacity.node;
        if (series > *left) {
            writer->left_out += series;
            continue;
        }
        *left -= series;
        writer->series += series;
        if (!add_item(writer, &entry))
            return false;
    }
    return !buf_err(&writer->labels);
}

/* Sorts the items by set, keeping their order within a set. */
static bool sort_items(struct writer *writer)
{
    struct item *sorted = calloc(writer->item_count + 1, sizeof *sorted);
    writer->run_count = writer->sets.count;
    writer->runs = calloc(writer->run_count + 1, sizeof *writer->runs);
    if (!sorted || !writer->runs) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < writer->item_count; i++)
        writer->runs[writer->items[i].run].count++;
    for (size_t i = 0, first = 0; i < writer->run_count; i++) {
        struct set_items *run = &writer->runs[i];
        run->set = writer->sets.sets[i];
        run->first = first;
        first += run->count;
        run->count = 0;
    }
    for (size_t i = 0; i < writer->item_count; i++) {
        struct set_items *run = &writer->runs[writer->items[i].run];
        sorted[run->first + run->count++] = writer->items[i];
    }
    free(writer->items);
    writer->items = sorted;
    return true;
}

/* HELP escapes backslash and newline, and in OpenMetrics the double quote. */
static void add_help(struct writer *writer, const char *help)
{
    const char *escaped = writer->format == METRICS_OPEN ? "\\\n\"" : "\\\n";
    while (*help) {
        size_t plain = strcspn(help, escaped);
        buf_add(writer->out, help, plain);
        help += plain;
        if (*help) {
            buf_add_char(writer->out, '\\');
            buf_add_char(writer->out, *help == '\n' ? 'n' : *help);
            help++;
        }
    }
    buf_add_char(writer->out, '\n');
}

static char *append(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* "# TYPE sonde_x_seconds counter", in OpenMetrics "# UNIT …", and HELP of any length. */
static void add_about(struct writer *writer, struct bytes family, const struct prom_name *name, const char *help)
{
    size_t unit = writer->format == METRICS_OPEN ? strlen(name->unit) : 0;
    char *begin = buf_reserve(writer->out, 3 * family.size + unit + 64), *at = begin;
    if (!begin)
        return;
    at = append(append(at, "# TYPE ", 7), family.data, family.size);
    at = name->is_counter ? append(at, " counter\n", 9) : append(at, " gauge\n", 7);
    if (unit) {
        at = append(append(at, "# UNIT ", 7), family.data, family.size);
        *at++ = ' ';
        at = append(at, name->unit, unit);
        *at++ = '\n';
    }
    at = append(append(at, "# HELP ", 7), family.data, family.size);
    *at++ = ' ';
    *at = '\0';
    writer->out->size += (size_t)(at - begin);
    add_help(writer, help && *help ? help : "no description");
}

/* Writes the header and appends "_total" to the name of a counter, as its series need it. */
static void add_header(struct writer *writer, struct prom_name *name, const char *help)
{
    struct bytes family = { name->text, name->size };
    if (name->is_counter) {
        memcpy(name->text + name->size, "_total", sizeof "_total");
        name->size += strlen("_total");
    }
    if (writer->format == METRICS_TEXT)
        family.size = name->size;
    add_about(writer, family, name, help);
}

static size_t write_scaled(char *text, const struct prom_name *name, double value)
{
    double divisor = 1;
    for (unsigned i = 0; i < name->decimals; i++)
        divisor *= 10;
    return prom_number_f64(text, value * (double)name->times / divisor);
}

static size_t write_value(char *text, const struct prom_name *name, enum metric_type type, union value value)
{
    uint64_t product;
    int64_t signed_product;
    if (type == F64)
        return write_scaled(text, name, value.f64);
    if (type == U64 && !__builtin_mul_overflow(value.u64, name->times, &product))
        return prom_number_u64(text, product, name->decimals);
    if (type == I64 && !__builtin_mul_overflow(value.i64, (int64_t)name->times, &signed_product))
        return prom_number_i64(text, signed_product, name->decimals);
    return write_scaled(text, name, type == U64 ? (double)value.u64 : (double)value.i64);
}

static void add_series(struct writer *writer, const struct prom_name *name, const struct item *item,
                       enum metric_type type, union value value)
{
    char *at = buf_reserve(writer->out, name->size + item->label_size + PROM_NUMBER_MAX + 2);
    if (!at)
        return;
    char *begin = at;
    memcpy(at, name->text, name->size);
    at += name->size;
    memcpy(at, writer->labels.data + item->label_at, item->label_size);
    at += item->label_size;
    *at++ = ' ';
    at += write_value(at, name, type, value);
    *at++ = '\n';
    *at = '\0'; /* a buf ends with NUL; space for it is reserved */
    writer->out->size += (size_t)(at - begin);
}

static void add_run(struct writer *writer, const struct prom_name *name, const struct set_items *run, size_t metric)
{
    enum metric_type type = run->set->metrics[metric].type;
    for (size_t i = 0; i < run->count; i++) {
        const struct item *item = &writer->items[run->first + i];
        if (item->known[metric])
            add_series(writer, name, item, type, item->values[metric]);
    }
}

static bool is_any_known(const struct writer *writer, const struct set_items *run, size_t metric)
{
    for (size_t i = 0; i < run->count; i++)
        if (writer->items[run->first + i].known[metric])
            return true;
    return false;
}

/* One family: a chain of columns with their runs. */
static void add_family(struct writer *writer, struct set_items *const *runs, const struct metrics_column *first)
{
    const struct set *set = runs[first->set]->set;
    const struct metric *metric = &set->metrics[first->metric];
    struct prom_name name;
    bool is_known = false;
    for (const struct metrics_column *column = first; column && !is_known; column = column->next)
        is_known = is_any_known(writer, runs[column->set], column->metric);
    if (!is_known || !prom_name_of(set, metric, &name) || !is_new_family(writer, &name))
        return;
    add_header(writer, &name, metric->help);
    for (const struct metrics_column *column = first; column; column = column->next)
        add_run(writer, &name, runs[column->set], column->metric);
}

/* All families of the sets of one name; usually there is one such set. */
static enum err add_families(struct writer *writer, struct set_items **runs, const struct set **sets, size_t count)
{
    struct metrics_columns columns;
    for (size_t i = 0; count == 1 && i < sets[0]->size; i++)
        add_family(writer, runs, &(struct metrics_column){ .metric = i });
    enum err err = count > 1 ? metrics_columns_init(&columns, sets, count) : OK;
    if (err || count == 1)
        return err;
    for (size_t i = 0; i < columns.count; i++)
        if (columns.items[i].is_first)
            add_family(writer, runs, &columns.items[i]);
    metrics_columns_clear(&columns);
    return OK;
}

/* The run `first` and the later ones of the same set name, which are marked as done. */
static size_t collect_runs(struct writer *writer, size_t first, struct set_items **runs, const struct set **sets)
{
    size_t count = 0;
    for (size_t i = first; i < writer->run_count; i++) {
        struct set_items *run = &writer->runs[i];
        if (run->is_done || strcmp(run->set->name, writer->runs[first].set->name) != 0)
            continue;
        run->is_done = true;
        runs[count] = run;
        sets[count++] = run->set;
    }
    return count;
}

static enum err add_sets(struct writer *writer)
{
    struct set_items **runs = calloc(writer->run_count + 1, sizeof *runs);
    const struct set **sets = calloc(writer->run_count + 1, sizeof *sets);
    enum err err = runs && sets ? OK : NOMEM;
    for (size_t i = 0; !err && i < writer->run_count; i++)
        if (!writer->runs[i].is_done)
            err = add_families(writer, runs, sets, collect_runs(writer, i, runs, sets));
    free(runs);
    free(sets);
    return err;
}

/* A family of one series about the agent itself. */
static void add_own(struct writer *writer, const struct view *view, const char *text, const char *help, uint64_t value)
{
    struct prom_name name = { .size = strlen(text), .unit = "", .times = 1 };
    memcpy(name.text, text, name.size + 1);
    struct item item = { .label_at = writer->labels.size };
    prom_label_add(&writer->labels, true, "host", view->host);
    if (strcmp(text, "sonde_build_info") == 0)
        prom_label_add(&writer->labels, false, "version", SONDE_VERSION);
    buf_add_char(&writer->labels, '}');
    item.label_size = writer->labels.size - item.label_at;
    add_header(writer, &name, help);
    add_series(writer, &name, &item, U64, (union value){ .u64 = value });
}

static void add_job_labels(struct buf *out, const char *host, const struct job *job, bool is_info)
{
    prom_label_add(out, true, "host", host);
    prom_label_add(out, false, "job", job->id);
    if (*job->user)
        prom_label_add(out, false, "user", job->user);
    if (is_info)
        prom_label_add(out, false, "source", job->source);
    if (is_info && *job->other_id)
        prom_label_add(out, false, "other_id", job->other_id);
    buf_add_char(out, '}');
}

static void add_job_fact(struct writer *writer, const struct view *view, const struct job_fact *fact)
{
    struct prom_name name = fact->name;
    const struct job *job;
    const char *host;
    struct view_position at = { 0 };
    bool is_begun = false;
    uint64_t value;
    for (size_t left = writer->job_count; left && view_next_job(view, &at, &host, &job);) {
        if (!view_shows_job(view, job))
            continue;
        left--;
        if (!has_fact(job, fact, &value))
            continue;
        if (!is_begun)
            add_header(writer, &name, fact->help);
        is_begun = true;
        struct item item = { .label_at = writer->labels.size };
        add_job_labels(&writer->labels, host, job, fact->offset == 0);
        item.label_size = writer->labels.size - item.label_at;
        add_series(writer, &name, &item, U64, (union value){ .u64 = value });
    }
}

static void add_rest(struct writer *writer, const struct view *view)
{
    for (size_t i = 0; i < sizeof job_facts / sizeof *job_facts; i++)
        add_job_fact(writer, view, &job_facts[i]);
    add_own(writer, view, "sonde_build_info", "version of Sonde", 1);
    add_own(writer, view, "sonde_series", "number of series of sensors and jobs on this page", writer->series);
    add_own(writer, view, "sonde_series_left_out", "number of series of sensors and jobs left out because of the maximum",
            writer->left_out);
    if (writer->format == METRICS_OPEN)
        buf_add_text(writer->out, "# EOF\n");
}

void metrics_page_write(struct buf *out, const struct view *view, enum metrics_format format, size_t series_max)
{
    struct writer writer = { .out = out, .format = format };
    buf_init(&writer.labels, LABELS_MAX);
    set_index_init(&writer.sets);
    if (select_entries(&writer, view, series_max) && sort_items(&writer) && !add_sets(&writer))
        add_rest(&writer, view);
    else
        out->failed = true; /* fail the scrape rather than return a partial page */
    set_index_clear(&writer.sets);
    buf_clear(&writer.labels);
    free(writer.items);
    free(writer.runs);
    map_clear(&writer.families);
}
