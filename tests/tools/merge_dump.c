/* merge_dump SPOOL [-t]: the processes that merging makes of a spool, one line each, indented as a tree; -t: threads too.
 * For tests and for people who look for mistakes. The last line has the sums beside what the run's own record says. */
#include "merge/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_text(const char *label, struct bytes text)
{
    printf(" %s=\"", label);
    for (size_t i = 0; i < text.size; i++)
        putchar(text.data[i] == '\0' ? ' ' : text.data[i] < ' ' || text.data[i] > '~' ? '?' : text.data[i]);
    putchar('"');
}

static void print_counters(const struct counters *counters)
{
    printf(" {");
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (counters_has(counters, (enum counter)i))
            printf(" %s=%" PRIu64, counters_metrics[i].name, counters->value[i]);
    printf(" }");
}

static double seconds(uint64_t time_ns, uint64_t start_ns)
{
    return ((double)time_ns - (double)start_ns) / 1e9;
}

static void print_process(const struct run *run, const struct process *p, int depth)
{
    static const char *states[] = { "ended", "execed", "running", "lost" };
    printf("%*s%u.%u ppid=%u %s", 2 * depth, "", p->pid, p->image, p->ppid, states[p->state]);
    if (p->start_ns)
        printf(" start=%.6f", seconds(p->start_ns, run->start_ns));
    if (p->end_ns)
        printf(" end=%.6f", seconds(p->end_ns, run->start_ns));
    if (p->status_known)
        printf(" code=%d signal=%d", p->exit_code, p->exit_signal);
    printf(" sources=%u threads=%u cpu=%" PRIu64 " inclusive=%" PRIu64, p->sources, p->thread_count,
           counters_cpu_us(&p->counters), p->inclusive_cpu_us);
    print_text("name", p->name);
    print_text("path", p->path);
    print_text("args", p->args);
    print_text("cwd", p->cwd);
    print_text("tags", p->tags);
    print_counters(&p->counters);
    putchar('\n');
}

static void print_threads(const struct run *run, const struct process *p, int depth)
{
    for (uint32_t i = p->thread_first; p->thread_count > 1 && i < p->thread_first + p->thread_count; i++) {
        const struct thread *t = &run->threads[i];
        printf("%*s- tid=%u name=%.16s", 2 * depth + 2, "", t->tid, t->name);
        if (t->start_ns && t->end_ns)
            printf(" start=%.6f end=%.6f", seconds(t->start_ns, run->start_ns), seconds(t->end_ns, run->start_ns));
        print_counters(&t->counters);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    struct merged merged;
    enum err err = argc >= 2 ? merge_spool(&merged, argv[1]) : USAGE;
    if (err) {
        fprintf(stderr, "merge_dump: %s: %s\n", argc >= 2 ? argv[1] : "usage: merge_dump SPOOL [-t]", err_text(err));
        return 2;
    }
    const struct run *run = &merged.run;
    struct counters sum = { 0 };
    size_t threads = 0;
    int depth = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct process *p = &run->processes[i];
        depth = 0;
        for (uint32_t up = p->parent; up != PROCESS_NO_PARENT; up = run->processes[up].parent)
            depth++;
        print_process(run, p, depth);
        if (argc > 2 && strcmp(argv[2], "-t") == 0)
            print_threads(run, p, depth);
        counters_add(&sum, &p->counters);
        threads += p->thread_count;
    }
    printf("processes=%zu threads=%zu cpu=%" PRIu64 " total=%" PRIu64 " damaged=%" PRIu64 " lost=%" PRIu64 "+%" PRIu64
           " series=%zu ended=%d\n", run->process_count, threads, counters_cpu_us(&sum),
           counters_cpu_us(&run->total), run->gaps.bytes_damaged, run->gaps.records_lost, run->gaps.events_lost,
           run->series_count, run->ended);
    merge_clear(&merged);
    return 0;
}
