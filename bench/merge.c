/* bench-merge SPOOL [ROUNDS]: the cost of merging a spool, compared with iterating over the spool's frames and checking them, which
 * any reader must do. CPU time of the best round, and peak resident memory. */
#include "base/clock.h"
#include "merge/merge.h"
#include "spool/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_s(void)
{
    return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static double walk(const char *path, size_t *records)
{
    struct spool_reader reader;
    enum record_kind kind;
    struct bytes body;
    double start = cpu_s();
    if (spool_open(&reader, path))
        exit(1);
    for (*records = 0; spool_next(&reader, &kind, &body) == OK;)
        ++*records;
    spool_close(&reader);
    return cpu_s() - start;
}

static double merge(const char *path, size_t *processes)
{
    struct merged merged;
    double start = cpu_s();
    if (merge_spool(&merged, path))
        exit(1);
    double took = cpu_s() - start;
    *processes = merged.run.process_count;
    merge_clear(&merged);
    return took;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench-merge SPOOL [ROUNDS]\n");
        return 2;
    }
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    size_t processes = 0, records = 0;
    double merging = 1e9, walking = 1e9;
    for (int i = 0; i < rounds; i++) {
        double took = merge(argv[1], &processes);
        merging = took < merging ? took : merging;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    for (int i = 0; i < rounds; i++) {
        double took = walk(argv[1], &records);
        walking = took < walking ? took : walking;
    }
    printf("%zu processes, %zu records: %.3f us per process (%.0f per second), %.2f of them walking; %ld KB resident\n",
           processes, records, merging * 1e6 / (double)processes, (double)processes / merging,
           walking * 1e6 / (double)processes, usage.ru_maxrss);
    return 0;
}
