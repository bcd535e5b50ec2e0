/* Tables map metrics to figures, best source first; one pass over a view fills in all figures. */
#include "api/job_figures.h"

#include "api/schema.h"

#include <stdlib.h>
#include <string.h>

#define RULES_MAX 16 /* per metric set */

/* value * times / divisor. Values of the same rank are added, for example of several packages or disks. */
static const struct figure_rule {
    enum job_figure_index figure;
    unsigned rank;
    const char *set, *metric;
    uint64_t times, divisor;
    bool is_total; /* only the instance "": the others are parts of it */
    bool is_max;  /* take the largest of the same rank: each source misses something */
    const char *unless; /* skip an instance where this metric is not 0: another instance counts the same */
} job_figure_rules[] = {
    { JOB_FIGURES_cpu_us, 1, "cgroup", "cpu", 1, 1 },
    { JOB_FIGURES_cpu_us, 2, "taskstats", "cpu", 1, 1000 },
    { JOB_FIGURES_cpu_us, 3, "process", "cpu", 1, 1000 },
    { JOB_FIGURES_memory_bytes, 1, "cgroup", "memory", 1, 1 },
    { JOB_FIGURES_memory_bytes, 2, "process", "pss", 1, 1 },
    { JOB_FIGURES_memory_bytes, 3, "process", "rss", 1, 1 },
    { JOB_FIGURES_memory_limit_bytes, 1, "cgroup", "memory_limit", 1, 1 },
    /* cgroups do not count NFS, and v1 does not count buffered writes; the others miss processes that were never
     * sampled. */
    { JOB_FIGURES_read_bytes, 1, "cgroup", "io_read", 1, 1, .is_max = true },
    { JOB_FIGURES_read_bytes, 1, "taskstats", "read_bytes", 1, 1, .is_max = true },
    { JOB_FIGURES_read_bytes, 1, "process", "read_bytes", 1, 1, .is_max = true },
    { JOB_FIGURES_write_bytes, 1, "cgroup", "io_written", 1, 1, .is_max = true },
    { JOB_FIGURES_write_bytes, 1, "taskstats", "write_bytes", 1, 1, .is_max = true },
    { JOB_FIGURES_write_bytes, 1, "process", "write_bytes", 1, 1, .is_max = true },
    { JOB_FIGURES_tasks, 1, "cgroup", "pids", 1, 1 },
    { JOB_FIGURES_tasks, 2, "taskstats", "tasks", 1, 1 },
    { JOB_FIGURES_tasks, 3, "process", "threads", 1, 1 },
    { JOB_FIGURES_energy_uj, 1, "energy", "package", 1, 1 },
    { JOB_FIGURES_energy_uj, 1, "energy", "dram", 1, 1 },
}, node_figure_rules[] = {
    { JOB_FIGURES_cpu_us, 1, "stat", "user", 1, 1 },
    { JOB_FIGURES_cpu_us, 1, "stat", "nice", 1, 1 },
    { JOB_FIGURES_cpu_us, 1, "stat", "system", 1, 1 },
    { JOB_FIGURES_cpu_us, 1, "stat", "irq", 1, 1 },
    { JOB_FIGURES_cpu_us, 1, "stat", "softirq", 1, 1 },
    { JOB_FIGURES_memory_bytes, 1, "meminfo", "mem_available", 1, 1 }, /* converted to used memory by set_used_memory */
    { JOB_FIGURES_memory_limit_bytes, 1, "meminfo", "mem_total", 1, 1 },
    { JOB_FIGURES_read_bytes, 1, "diskstats", "read", 1, 1, .unless = "stacked" },
    { JOB_FIGURES_write_bytes, 1, "diskstats", "written", 1, 1, .unless = "stacked" },
    { JOB_FIGURES_tasks, 1, "loadavg", "tasks", 1, 1 },
    { JOB_FIGURES_load_milli, 1, "loadavg", "load1", 1000, 1 },
    { JOB_FIGURES_energy_uj, 1, "rapl", "package", 1, 1 },
    { JOB_FIGURES_energy_uj, 1, "rapl", "dram", 1, 1 },
    { JOB_FIGURES_power_mw, 1, "ipmi", "power", 1000, 1, .is_total = true },
    { JOB_FIGURES_cpus, 1, "stat_cpu", "idle", 0, 1 }, /* counts the instances */
};

/* The rules that apply to a set, with the indexes of their metrics. */
struct matching_rules {
    const struct set *set;
    struct {
        const struct figure_rule *rule;
        size_t metric, unless; /* unless: size of the set if there is none */
    } rules[RULES_MAX];
    size_t count;
};

static size_t index_of(const struct set *set, const char *metric)
{
    size_t i = 0;
    while (i < set->size && strcmp(set->metrics[i].name, metric) != 0)
        i++;
    return i;
}

static void match_rules(struct matching_rules *matching, const struct set *set, const struct figure_rule *rules, size_t count)
{
    if (matching->set == set)
        return;
    *matching = (struct matching_rules){ .set = set };
    for (size_t i = 0; i < count && matching->count < RULES_MAX; i++) {
        size_t place = strcmp(rules[i].set, set->name) == 0 ? index_of(set, rules[i].metric) : set->size;
        if (place == set->size)
            continue;
        matching->rules[matching->count].unless = rules[i].unless ? index_of(set, rules[i].unless) : set->size;
        matching->rules[matching->count].rule = &rules[i];
        matching->rules[matching->count++].metric = place;
    }
}

static uint64_t number_of(const struct view_entry *entry, size_t i, const struct figure_rule *rule)
{
    if (entry->set->metrics[i].type != F64)
        return entry->values[i].u64 * rule->times / rule->divisor;
    double value = entry->values[i].f64 * (double)rule->times / (double)rule->divisor;
    return value > 0 && value < 1.8e19 ? (uint64_t)value : 0;
}

static bool is_counted_elsewhere(const struct view_entry *entry, size_t unless)
{
    return unless < entry->set->size && entry->known[unless] && entry->values[unless].u64;
}

static void apply_rules(struct job_figures *figures, const struct matching_rules *matching, const struct view_entry *entry)
{
    for (size_t i = 0; i < matching->count; i++) {
        const struct figure_rule *rule = matching->rules[i].rule;
        struct job_figure *figure = &figures->values[rule->figure];
        if ((rule->is_total && *entry->instance) || is_counted_elsewhere(entry, matching->rules[i].unless))
            continue;
        if (!entry->known[matching->rules[i].metric] || (figure->time_ns && figure->rank < rule->rank))
            continue;
        uint64_t value = rule->figure == JOB_FIGURES_cpus ? 1 : number_of(entry, matching->rules[i].metric, rule);
        bool is_same = figure->time_ns && figure->rank == rule->rank;
        if (is_same && rule->is_max && value <= figure->value)
            continue;
        bool is_added = is_same && !rule->is_max;
        *figure = (struct job_figure){ value + (is_added ? figure->value : 0), entry->time_ns, rule->rank };
    }
}

static size_t count_slots(const struct view *view)
{
    const struct job *job;
    const char *host;
    struct view_position at = { 0 };
    size_t count = 0;
    while (view_next_job(view, &at, &host, &job))
        count = job->slot >= count ? (size_t)job->slot + 1 : count;
    return count;
}

/* Available memory to used memory. */
static void set_used_memory(struct job_figures *node)
{
    struct job_figure *used = &node->values[JOB_FIGURES_memory_bytes], *total = &node->values[JOB_FIGURES_memory_limit_bytes];
    if (total->time_ns && total->value >= used->value)
        used->value = total->value - used->value;
    else
        used->time_ns = 0;
}

enum err job_figures_read(struct job_figures_all *all, const struct view *view)
{
    struct matching_rules for_jobs = { 0 }, for_node = { 0 };
    struct view_entry entry;
    struct view_position at = { 0 };
    *all = (struct job_figures_all){ .job_count = count_slots(view) };
    all->jobs = calloc(all->job_count + 1, sizeof *all->jobs);
    if (!all->jobs)
        return NOMEM;
    while (view_next(view, &at, &entry)) {
        if (!entry.job) {
            match_rules(&for_node, entry.set, node_figure_rules, sizeof node_figure_rules / sizeof *node_figure_rules);
            apply_rules(&all->node, &for_node, &entry);
        } else if (!*entry.instance && entry.of && entry.of->slot < all->job_count) {
            match_rules(&for_jobs, entry.set, job_figure_rules, sizeof job_figure_rules / sizeof *job_figure_rules);
            apply_rules(&all->jobs[entry.of->slot], &for_jobs, &entry);
        }
    }
    set_used_memory(&all->node);
    return OK;
}

void job_figures_clear(struct job_figures_all *all)
{
    free(all->jobs);
    *all = (struct job_figures_all){ 0 };
}

void job_figures_sum(struct job_figures *sum, const struct job_figures *more)
{
    for (size_t i = 0; i < JOB_FIGURES_SIZE; i++) {
        const struct job_figure *value = &more->values[i];
        if (!value->time_ns)
            continue;
        sum->values[i].value += value->value;
        if (value->time_ns > sum->values[i].time_ns)
            sum->values[i].time_ns = value->time_ns;
    }
}

void job_figures_write(struct json *json, const struct job_figures *figures)
{
    static const char *const names[] = {
#define X(name) #name,
        JOB_FIGURES_LIST(X)
#undef X
    };
    json_key(json, API_FIGURES);
    json_begin_object(json);
    for (size_t i = 0; i < JOB_FIGURES_SIZE; i++) {
        if (!figures->values[i].time_ns)
            continue;
        json_key(json, names[i]);
        json_begin_array(json);
        json_u64(json, figures->values[i].value);
        json_u64(json, figures->values[i].time_ns);
        json_end_array(json);
    }
    json_end_object(json);
}
