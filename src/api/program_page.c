/* Each line is three copies, the name with labels of the metric, the labels of the scope and a number. */
#include "api/program_page.h"

#include "base/utf8.h"
#include "model/prom_number.h"

#include <stdio.h>
#include <string.h>

#define PAGE_MAX (192u << 20) /* less than HTTP_ANSWER_MAX by more than one value can take */

bool program_page_shows(uint32_t viewer, const struct scope *scope)
{
    return scope->kind == SCOPE_NODE || viewer == VIEW_ALL || (viewer != VIEW_NODE && viewer == scope->uid);
}

static char *put(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* Sums of different scopes have different names, so that the sum over the series of a name is right. */
static const char *const prefixes[] = { [SCOPE_NODE] = "", [SCOPE_USER] = "user_", [SCOPE_JOB] = "job_" };

/* suffix: after the name, "_min"; extra: a label before ours, "le=\"1\",". */
static void add_line(struct buf *out, const struct cell *cell, const char *suffix, struct bytes extra, double value)
{
    const struct program_metric *metric = cell->metric;
    const struct buf *labels = &cell->scope->labels;
    const char *prefix = prefixes[cell->scope->kind];
    size_t suffix_size = strlen(suffix), prefix_size = strlen(prefix);
    size_t name_size = prefix_size + metric->page.size + suffix_size;
    char *begin = buf_reserve(out, name_size + extra.size + labels->size + PROM_NUMBER_MAX + 2);
    if (!begin)
        return;
    char *at = put(begin, prefix, prefix_size);
    at = put(at, metric->page.text, metric->page.base_size);
    at = put(at, suffix, suffix_size);
    at = put(at, metric->page.text + metric->page.base_size, metric->page.size - metric->page.base_size);
    if (extra.size)
        at = put(at, extra.data, extra.size);
    at = put(at, labels->data, labels->size);
    at += prom_number_f64(at, value);
    *at++ = '\n';
    *at = '\0';
    out->size += (size_t)(at - begin);
}

/* In HELP backslashes and newlines are escaped, and in OpenMetrics quotation marks too. Prometheus rejects a whole
 * page for one byte that is not UTF-8. */
static void add_help(struct buf *out, struct bytes help, bool is_open)
{
    while (help.size) {
        uint32_t code;
        size_t size = utf8_next(help, &code);
        if (size && (code == '\\' || code == '\n' || (is_open && code == '"')))
            buf_add_char(out, '\\');
        if (!size)
            buf_add_text(out, "\xef\xbf\xbd");
        else if (code == '\n' || code == '\r' || code == '\0')
            buf_add_char(out, code == '\n' ? 'n' : ' ');
        else
            buf_add(out, help.data, size);
        size = size ? size : 1;
        help = (struct bytes){ help.data + size, help.size - size };
    }
}

static struct bytes name_of(const struct metric_family *family) { return (struct bytes){ family->name, family->name_size }; }

static bool ends_in_total(struct bytes name)
{
    return name.size > 6 && memcmp(name.data + name.size - 6, "_total", 6) == 0;
}

/* What is exposed of a gauge. */
enum aspect { SUM, MIN, MAX, MEAN, TAU_MEAN };
static const char *const aspects[] = { "", "_min", "_max", "_mean", "" };

/* Is it a series of a gauge, or would it be if several programs had set it? */
static bool is_aspect(const struct registry *registry, struct bytes name)
{
    for (enum aspect aspect = MIN; aspect <= MEAN; aspect++) {
        size_t size = strlen(aspects[aspect]);
        if (name.size <= size || memcmp(name.data + name.size - size, aspects[aspect], size) != 0)
            continue;
        struct bytes base = { name.data, name.size - size };
        const struct metric_family *family = families_find(&registry->metrics.families, base);
        if (family && family->kind == PROGRAM_GAUGE)
            return true;
    }
    return false;
}

/* In OpenMetrics the family of a counter is its name without "_total". A counter without it, or whose family name
 * another metric has, is of unknown type there, so that its name is the same as elsewhere. */
static const char *open_type(const struct registry *registry, const struct metric_family *family, struct bytes *name)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    if (family->kind != PROGRAM_COUNTER)
        return types[family->kind];
    struct bytes short_name = { name->data, ends_in_total(*name) ? name->size - 6 : 0 };
    if (!short_name.size || families_has_series(&registry->metrics.families, short_name) || is_aspect(registry, short_name))
        return "unknown";
    *name = short_name;
    return types[PROGRAM_COUNTER];
}

static void add_head(struct buf *out, enum scope_kind kind, struct bytes name, const char *suffix, const char *what)
{
    buf_add_text(out, what);
    buf_add_text(out, prefixes[kind]);
    buf_add(out, name.data, name.size);
    buf_add_text(out, suffix);
    buf_add_char(out, ' ');
}

static void add_about(struct buf *out, const struct registry *registry, const struct metric_family *family,
                      enum scope_kind kind, const char *suffix, bool is_open)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    struct bytes name = name_of(family);
    const char *type = is_open ? open_type(registry, family, &name) : types[family->kind];
    add_head(out, kind, name, suffix, "# HELP ");
    if (family->doc_size)
        add_help(out, (struct bytes){ family->doc, family->doc_size }, is_open);
    else
        buf_add_text(out, "published by programs");
    buf_add_char(out, '\n');
    add_head(out, kind, name, suffix, "# TYPE ");
    buf_add_text(out, type);
    buf_add_char(out, '\n');
}

static void add_histogram(struct buf *out, const struct cell *cell)
{
    const struct program_metric *metric = cell->metric;
    double count = 0;
    for (size_t i = 0; i <= metric->bound_count; i++) {
        char label[PROM_NUMBER_MAX + 16] = "le=\"";
        size_t size = strlen(label);
        if (i < metric->bound_count)
            size += prom_number_f64(label + size, metric->bounds[i]);
        else
            size = (size_t)(put(label + size, "+Inf", 4) - label);
        size = (size_t)(put(label + size, "\",", 2) - label);
        count += cell->buckets[i];
        add_line(out, cell, "_bucket", (struct bytes){ label, size }, count);
    }
    add_line(out, cell, "_sum", (struct bytes){ "", 0 }, cell->total);
    add_line(out, cell, "_count", (struct bytes){ "", 0 }, count);
}

static double aspect_of(const struct gauge_sum *gauge, enum aspect aspect)
{
    return aspect == SUM ? gauge->sum : aspect == MIN ? gauge->min : aspect == MAX ? gauge->max
           : gauge->sum / (double)gauge->programs;
}

static void add_cell(struct buf *out, const struct cell *cell, enum aspect aspect)
{
    switch (cell->metric->kind) {
    case PROGRAM_COUNTER:
        add_line(out, cell, "", (struct bytes){ "", 0 }, cell->total);
        break;
    case PROGRAM_GAUGE:
        if (cell->gauge.programs)
            add_line(out, cell, aspects[aspect], (struct bytes){ "", 0 }, aspect_of(&cell->gauge, aspect));
        break;
    case PROGRAM_HISTOGRAM:
        add_histogram(out, cell);
        break;
    }
}

static bool is_shown(const struct program_page *page, const struct program_metric *metric)
{
    return (page->has_tau_names || !metric->is_alias) && !(page->is_node_only && metric->values.node->aliases);
}

static bool is_in_page(const struct program_page *page, const struct cell *cell, enum scope_kind kind)
{
    return cell->scope->kind == kind && !cell->scope->user.is_pending && program_page_shows(page->viewer, cell->scope);
}

/* Names may be so long, and in so many jobs, that one user's metrics alone would fill the page. */
static void add_cells(struct buf *out, const struct program_page *page, const struct metric_family *family,
                      enum scope_kind kind, enum aspect aspect)
{
    struct program_metric *metric;
    const struct cell *cell;
    TAILQ_FOREACH(metric, &family->metrics, in_family) {
        if (!is_shown(page, metric) || out->size >= PAGE_MAX)
            continue;
        cells_refresh_gauges(metric);
        if (kind == SCOPE_NODE) {
            add_cell(out, metric->values.node, aspect);
            continue;
        }
        LIST_FOREACH(cell, &metric->values.cells, in_metric)
            if (out->size < PAGE_MAX && is_in_page(page, cell, kind))
                add_cell(out, cell, aspect);
    }
}

static bool has_cells(const struct program_page *page, const struct metric_family *family, enum scope_kind kind)
{
    struct program_metric *metric;
    const struct cell *cell;
    TAILQ_FOREACH(metric, &family->metrics, in_family)
        LIST_FOREACH(cell, &metric->values.cells, in_metric)
            if (is_shown(page, metric) && is_in_page(page, cell, kind) && (metric->kind != PROGRAM_GAUGE || cell->gauge.programs))
                return true;
    return false;
}

/* Has a program a metric with this name itself? */
static bool is_taken(const struct registry *registry, const struct metric_family *family, enum scope_kind kind,
                     const char *suffix)
{
    char name[METRIC_NAME_MAX + 32];
    int size = snprintf(name, sizeof name, "%s%.*s%s", prefixes[kind], (int)family->name_size, family->name, suffix);
    if (size < 0 || (size_t)size >= sizeof name)
        return true;
    struct bytes whole = { name, (size_t)size }, shorter = { name, (size_t)size - (ends_in_total(whole) ? 6 : 0) };
    return families_has_series(&registry->metrics.families, whole) || families_has_series(&registry->metrics.families, shorter);
}

/* tau's proxy has sums of the node only. */
static void add_scopes(struct buf *out, const struct registry *registry, const struct program_page *page,
                       const struct metric_family *family, enum aspect aspect)
{
    for (enum scope_kind kind = SCOPE_NODE; kind <= SCOPE_JOB; kind++) {
        if (kind != SCOPE_NODE && (page->is_node_only || !has_cells(page, family, kind)
                                   || is_taken(registry, family, kind, aspects[aspect])))
            continue;
        add_about(out, registry, family, kind, aspects[aspect], page->format == METRICS_OPEN);
        add_cells(out, page, family, kind, aspect);
    }
}

/* 0, 1 or many programs in any of its gauges. */
static uint64_t programs_of(const struct metric_family *family)
{
    uint64_t most = 0;
    struct program_metric *metric;
    TAILQ_FOREACH(metric, &family->metrics, in_family) {
        cells_refresh_gauges(metric);
        most = metric->values.node->gauge.programs > most ? metric->values.node->gauge.programs : most;
    }
    return most;
}

/* Minimum, maximum and mean only if several programs have set it, and unless a metric of a program has the name. */
static void add_gauges(struct buf *out, const struct registry *registry, const struct program_page *page,
                       const struct metric_family *family)
{
    uint64_t programs = programs_of(family);
    if (page->is_node_only && programs)
        add_scopes(out, registry, page, family, TAU_MEAN);
    for (enum aspect aspect = SUM; aspect <= MEAN && programs > (aspect != SUM) && !page->is_node_only; aspect++) {
        char name[METRIC_NAME_MAX];
        size_t size = strlen(aspects[aspect]);
        if (family->name_size + size > sizeof name)
            continue;
        memcpy(name, family->name, family->name_size);
        memcpy(name + family->name_size, aspects[aspect], size);
        if (aspect != SUM && families_has_series(&registry->metrics.families, (struct bytes){ name, family->name_size + size }))
            continue;
        add_scopes(out, registry, page, family, aspect);
    }
}

static void add_own(struct buf *out, const struct registry *registry, const struct program_page *page, const char *name,
                    bool is_counter, const char *help, uint64_t value)
{
    const char *total = is_counter ? "_total" : "", *in_head = page->format == METRICS_OPEN ? "" : total;
    buf_printf(out, "# HELP sonde_programs_%s%s %s\n# TYPE sonde_programs_%s%s %s\nsonde_programs_%s%s{", name, in_head, help,
               name, in_head, is_counter ? "counter" : "gauge", name, total);
    buf_add(out, registry->scopes.node.labels.data, registry->scopes.node.labels.size);
    buf_add_u64(out, value);
    buf_add_char(out, '\n');
}

static void add_figures(struct buf *out, struct registry *registry, const struct program_page *page)
{
    const struct registry_stats *stats = &registry->stats;
    add_own(out, registry, page, "metrics", false, "metrics of programs", registry->metrics.by_name.count);
    add_own(out, registry, page, "boards", false, "metrics segments that are read", stats->segments);
    add_own(out, registry, page, "connections", false, "clients of tau that are connected", stats->connections);
    add_own(out, registry, page, "messages", true, "messages of clients of tau", stats->messages);
    add_own(out, registry, page, "left_out", true, "metrics and jobs over the limit", stats->left_out);
    add_own(out, registry, page, "refused", true, "metrics with two types, and invalid values of counters", stats->refused);
    add_own(out, registry, page, "bad_boards", true, "metrics segments that could not be read", stats->bad_segments);
    add_own(out, registry, page, "over_budget", true, "times that a user's data was over the user's budget",
            user_budgets_refused(&registry->budgets));
    add_own(out, registry, page, "no_room", true, "metrics without memory in their segment", stats->unpublished);
}

static bool has_shown(const struct program_page *page, const struct metric_family *family)
{
    const struct program_metric *metric = TAILQ_FIRST(&family->metrics);
    while (metric && !is_shown(page, metric))
        metric = TAILQ_NEXT(metric, in_family);
    return metric != NULL;
}

static void add_family(struct buf *out, const struct registry *registry, const struct program_page *page,
                       const struct metric_family *family)
{
    if (!has_shown(page, family))
        return;
    if (family->kind == PROGRAM_GAUGE) {
        add_gauges(out, registry, page, family);
        return;
    }
    add_scopes(out, registry, page, family, SUM);
}

/* Families with very long names are last, so that they are left out if the page is too long. */
void program_page_write(struct buf *out, struct registry *registry, const struct program_page *page)
{
    const struct metric_family *family;
    uint64_t left_out = 0;
    registry_lock(registry);
    for (int is_long = 0; is_long < 2; is_long++)
        TAILQ_FOREACH(family, &registry->metrics.families.list, link)
            if (family->is_long == is_long && out->size < PAGE_MAX)
                add_family(out, registry, page, family);
            else
                left_out += family->is_long == is_long;
    add_figures(out, registry, page);
    add_own(out, registry, page, "families_left_out", false, "families that did not fit into this page", left_out);
    registry_unlock(registry);
}
