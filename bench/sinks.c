/* bench-sinks NODES SECONDS CHOICE…: writes generated samples to sinks, as a collector does: CPU time of this process per sample,
 * samples and values per second of wall time, bytes on disk per value. Each node has six sets of 50 values, like LDMS, of which about
 * a fifth changes every second. For comparison: the minimum cost of printing the same numbers. */
#include "sinks/sink_choice.h"
#include "tools.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define SETS 6
#define VALUES 50
#define FLUSH_EVERY 1 /* seconds of samples */

static struct metric metrics[SETS][VALUES];
static struct set sets[SETS];
static char names[SETS][VALUES][16], set_names[SETS][16];
static uint64_t *values; /* nodes × SETS × VALUES */

static void make_sets(void)
{
    for (int s = 0; s < SETS; s++) {
        snprintf(set_names[s], sizeof set_names[s], "set%d", s);
        for (int i = 0; i < VALUES; i++) {
            snprintf(names[s][i], sizeof names[s][i], "metric%d", i);
            metrics[s][i] = (struct metric){ names[s][i], "1", COUNTER, U64, "made", NULL };
        }
        sets[s] = (struct set){ set_names[s], metrics[s], VALUES, NULL };
    }
}

static void advance(size_t nodes)
{
    for (size_t i = 0; i < nodes * SETS * VALUES; i++)
        if (i % 5 == 0)
            values[i] += 1 + (i * 2654435761u >> 7 & 1023);
}

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Prints all digits to memory, and nothing else. */
static double bare_s(size_t nodes, size_t seconds)
{
    struct buf out;
    buf_init(&out, 1u << 30);
    double begin = cpu_s();
    for (size_t t = 0; t < seconds; t++) {
        advance(nodes);
        for (size_t i = 0; i < nodes * SETS * VALUES; i++) {
            buf_add_u64(&out, values[i]);
            buf_add_char(&out, ',');
            if (out.size > 1u << 20)
                buf_reset(&out);
        }
    }
    buf_clear(&out);
    return cpu_s() - begin;
}

static void fill(struct batch *batch, const char *host, size_t node, uint64_t tick)
{
    batch_reset(batch);
    batch->host = host;
    batch->stream = node + 1;
    batch->sequence = tick + 1;
    batch->position = tick * 1000000 + node + 1;
    for (int s = 0; s < SETS; s++) {
        struct sample *sample = batch_add(batch, &sets[s], (1700000000ull + tick) * 1000000000 + 1000 * node, "");
        if (!sample)
            tools_die("out of memory");
        memcpy((void *)sample->values, values + (node * SETS + (size_t)s) * VALUES, VALUES * sizeof *values);
        memset((void *)sample->known, 1, VALUES);
    }
}

static uint64_t bytes_below(const char *path)
{
    struct stat facts;
    uint64_t bytes = stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
    DIR *dir = opendir(path);
    for (const struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        char below[4096];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        bytes += bytes_below(below);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

/* The size of SQLite's write-ahead log, which has not been checkpointed yet. */
static uint64_t log_bytes(const char *place)
{
    char log[4096 + 8];
    snprintf(log, sizeof log, "%s-wal", place);
    return bytes_below(log);
}

static void must(enum err err, const struct sink_choice *choice, const void *state)
{
    if (!err)
        return;
    fprintf(stderr, "%s: %s\n", choice->sink->name, sink_choice_message(choice, state, err));
    exit(1);
}

static void measure(const char *text, size_t nodes, size_t seconds, const char *place, double bare)
{
    struct sink_choice choice;
    struct buf why;
    struct batch batch;
    void *state;
    char host[32];
    buf_init(&why, 4096);
    batch_init(&batch);
    if (sink_choice_parse(&choice, text, &why) || sink_choice_open(&choice, &state, &why))
        tools_die(buf_text(&why));
    double begin_cpu = cpu_s();
    uint64_t begin_ns = tools_now_ns();
    for (size_t t = 0; t < seconds; t++) {
        advance(nodes);
        for (size_t node = 0; node < nodes; node++) {
            snprintf(host, sizeof host, "n%zu", node);
            fill(&batch, host, node, t);
            must(choice.sink->write(state, &batch), &choice, state);
        }
        if (t % FLUSH_EVERY == 0)
            must(choice.sink->flush(state, UINT64_MAX), &choice, state);
    }
    must(choice.sink->flush(state, 0), &choice, state);
    double wall_s = (double)(tools_now_ns() - begin_ns) / 1e9, cpu = cpu_s() - begin_cpu;
    double samples = (double)(nodes * seconds * SETS);
    printf("%-44.44s %6.2f us/set  x%5.2f of bare  %9.0f sets/s of CPU  %11.0f values/s", text, cpu / samples * 1e6, cpu / bare,
           samples / cpu, samples * VALUES / wall_s);
    if (place[0])
        printf("  %.2f bytes/value", (double)(bytes_below(place) + log_bytes(place)) / samples / VALUES);
    putchar('\n');
    sink_choice_close(&choice, &state);
    sink_choice_clear(&choice);
    batch_clear(&batch);
    buf_clear(&why);
}

/* The path in "csv:dir=PATH,…" or "store:path=PATH,…", if there is one. */
static void place_of(const char *choice, char *place, size_t size)
{
    const char *at = strstr(choice, "=/");
    snprintf(place, size, "%.*s", at ? (int)strcspn(at + 1, ",") : 0, at ? at + 1 : "");
}

int main(int argc, char **argv)
{
    if (argc < 4)
        tools_die("usage: bench-sinks NODES SECONDS CHOICE…");
    size_t nodes = strtoull(argv[1], NULL, 10), seconds = strtoull(argv[2], NULL, 10);
    values = calloc(nodes * SETS * VALUES, sizeof *values);
    if (!values)
        tools_die("out of memory");
    make_sets();
    double bare = bare_s(nodes, seconds);
    printf("%-44s %6.2f us/set\n", "bare: only digits, to memory", bare / (double)(nodes * seconds * SETS) * 1e6);
    for (int i = 3; i < argc; i++) {
        char place[4096];
        place_of(argv[i], place, sizeof place);
        measure(argv[i], nodes, seconds, place, bare);
    }
    free(values);
    return 0;
}
