/* bench-metrics [SERIES]: the time of /metrics with 100,000 series in four layouts: many families with few series and few families
 * with many, of the node and of a thousand jobs. Prints the best and the median of several rounds, in ms. */
#include "agent/node_view.h"
#include "api/metrics_page.h"
#include "base/clock.h"
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 15
#define NAME_CAPACITY 32

struct layout {
    const char *about;
    size_t metrics, instances, jobs; /* metrics x instances (x jobs) */
    enum metric_type type;
};

static char names[100000][NAME_CAPACITY];
static struct metric metrics[100000];
static char set_names[100][NAME_CAPACITY];
static char instances[100000][NAME_CAPACITY], jobs[1000][NAME_CAPACITY];

static const struct set *make_sets(const struct layout *layout, size_t *count)
{
    *count = (layout->metrics + SET_METRICS_MAX - 1) / SET_METRICS_MAX;
    struct set *sets = calloc(*count, sizeof *sets);
    for (size_t i = 0; i < layout->metrics; i++) {
        snprintf(names[i], NAME_CAPACITY, "metric_number_%zu", i);
        metrics[i] = (struct metric){ names[i], i % 2 ? "us" : "B", COUNTER, layout->type, "one of very many" };
    }
    for (size_t i = 0; i < *count; i++) {
        size_t first = i * SET_METRICS_MAX, rest = layout->metrics - first;
        snprintf(set_names[i], NAME_CAPACITY, "bench_%zu", i);
        sets[i] = (struct set){ set_names[i], metrics + first, rest < SET_METRICS_MAX ? rest : SET_METRICS_MAX, "device" };
    }
    return sets;
}

static void fill(struct batch *batch, const struct set *set, const struct layout *layout)
{
    for (size_t job = 0; job < (layout->jobs ? layout->jobs : 1); job++)
        for (size_t instance = 0; instance < layout->instances; instance++) {
            snprintf(jobs[job], NAME_CAPACITY, "%zu", 4711000 + job);
            snprintf(instances[instance], NAME_CAPACITY, layout->instances > 1 ? "device%zu" : "", instance);
            struct sample *sample = batch_add(batch, set, 1, instances[instance]);
            if (!sample)
                tools_die("out of memory");
            sample->job = layout->jobs ? jobs[job] : NULL;
            for (size_t i = 0; i < set->size; i++)
                if (layout->type == F64)
                    sample_set_f64(sample, i, 0.37 * (double)(i + instance + 1));
                else
                    sample_set_u64(sample, i, 123456789 * (i + instance + job + 1));
        }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct view *view, const struct layout *layout, size_t series)
{
    double ms[ROUNDS];
    size_t size = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct buf out;
        buf_init(&out, 1u << 30);
        uint64_t begin_ns = tools_now_ns();
        metrics_page_write(&out, view, i % 2 ? METRICS_OPEN : METRICS_TEXT, SIZE_MAX);
        ms[i] = (double)(tools_now_ns() - begin_ns) / 1e6;
        size = out.size;
        buf_clear(&out);
    }
    qsort(ms, ROUNDS, sizeof *ms, compare);
    printf("%-38s %7zu series, %5.1f MB: best %6.1f ms, median %6.1f ms\n", layout->about, series, (double)size / 1e6, ms[0],
           ms[ROUNDS / 2]);
}

static void run(const struct layout *layout)
{
    struct latest *live;
    struct batch batch;
    size_t count;
    if (latest_open(&live))
        tools_die("out of memory");
    batch_init(&batch);
    const struct set *sets = make_sets(layout, &count);
    for (size_t i = 0; i < count; i++)
        fill(&batch, &sets[i], layout);
    latest_update(live, &batch, 1);
    struct node_view node = { .live = live, .host = "node1234" };
    struct view view = node_view_of(&node, VIEW_ALL);
    measure(&view, layout, layout->metrics * layout->instances * (layout->jobs ? layout->jobs : 1));
    batch_clear(&batch);
    latest_close(&live);
    free((void *)sets);
}

int main(int argc, char **argv)
{
    size_t series = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    if (series < 1000 || series > 100000)
        tools_die("between 1000 and 100000 series");
    const struct layout layouts[] = {
        { "100 metrics of a thousandth of devices", 100, series / 100, 0, U64 },
        { "the same, with fractions", 100, series / 100, 0, F64 },
        { "one metric of very many devices", 1, series, 0, U64 },
        { "very many families of one series", series, 1, 0, U64 },
        { "a thousand jobs", series / 1000, 1, 1000, U64 },
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        run(&layouts[i]);
    return 0;
}
