/* A program with a metrics segment that executes the actions given as arguments: segment_program LIBRARY ACTION…
 *   counter NAME LABELS VALUE   gauge NAME LABELS VALUE   ticks NAME LABELS SECONDS (about)   observe NAME LABELS VALUE
 *   rank RANK SIZE   say TEXT (on stdout)   wait (for a line on stdin)   garbage (over its segment)   kill (itself, SIGKILL)
 *   fork (the rest is also executed in a child)   leave (_exit at once)
 *   hurry NAME LABELS TIMES (counts this often, and prints how often it had to wait)
 *   programs N NAME (N children one after another, each with its own segment in which it counts 1)
 *   subject PID UID JOB (first action: writes on behalf of another process)   pid PID (claims to be another process)
 * LABELS "-": none. Bounds of histograms are 0.1, 1 and 10. */
#include "base/clock.h"
#include "probe/segment/segment.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct segment segment;
static const double bounds[] = { 0.1, 1, 10 };

static uint32_t make(enum segment_metric_kind kind, enum segment_value_type type, char **words)
{
    struct segment_description description = {
        .name = words[1], .labels = strcmp(words[2], "-") == 0 ? NULL : words[2], .help = "told by a test", .kind = kind,
        .type = type, .bounds = kind == SEGMENT_HISTOGRAM ? bounds : NULL, .bound_count = kind == SEGMENT_HISTOGRAM ? 3 : 0,
    };
    uint32_t metric = segment_metric(&segment, &description);
    if (metric == SEGMENT_METRIC_NONE)
        fprintf(stderr, "no room, or another kind: %.100s\n", words[1]);
    return metric;
}

static void count(char **words)
{
    segment_add_f64(segment_slots(&segment, make(SEGMENT_COUNTER, SEGMENT_F64, words)), strtod(words[3], NULL));
}

/* The number of voluntary context switches: a waiting thread has them, a preempted one does not. */
static long waits(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static void hurry(char **words)
{
    uint64_t *slots = segment_slots(&segment, make(SEGMENT_COUNTER, SEGMENT_F64, words));
    long before = waits();
    for (long i = strtol(words[3], NULL, 10); i; i--)
        segment_add_f64(slots, 1);
    printf("waited %ld\n", waits() - before);
    fflush(stdout);
}

static void run_programs(char **words)
{
    for (long i = strtol(words[1], NULL, 10); i; i--) {
        pid_t pid = fork();
        if (pid == 0) {
            char *counter[] = { "counter", words[2], "-", "1" };
            count(counter);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
            exit(1);
    }
}

static void count_ticks(char **words)
{
    uint64_t begin_ns = clock_monotonic_ns(), begin = segment_ticks();
    usleep(20000);
    double rate = (double)(segment_ticks() - begin) / (double)(clock_monotonic_ns() - begin_ns) * 1e9;
    uint64_t ticks = (uint64_t)(strtod(words[3], NULL) * rate);
    segment_add_u64(segment_slots(&segment, make(SEGMENT_COUNTER, SEGMENT_TICKS, words)), ticks);
}

static void observe(char **words)
{
    double value = strtod(words[3], NULL);
    uint64_t *slots = segment_slots(&segment, make(SEGMENT_HISTOGRAM, SEGMENT_F64, words));
    size_t bucket = 0;
    while (bucket < 3 && value > bounds[bucket])
        bucket++;
    segment_add_u64(&slots[bucket], 1);
    segment_add_f64(&slots[4], value);
}

/* After the header: descriptors and chunks become garbage. */
static void write_garbage(void)
{
    for (size_t i = SEGMENT_PAGE; segment.base && i < segment.accessible; i++)
        segment.base[i] = (char)(i * 2654435761u >> 13);
    for (size_t i = 24; segment.base && i < 48; i++)
        segment.base[i] = (char)0xff;
}

static void lie_about_pid(int32_t pid)
{
    struct segment_header *header = (void *)segment.base;
    if (!header)
        return;
    header->pid = pid;
    header->start_ticks = header->exe_inode = 0; /* so that these do not reveal it */
}

/* Returns the number of arguments used. */
static int act(char **words, int count_left)
{
    const char *word = words[0];
    if (strcmp(word, "wait") == 0)
        getchar();
    else if (strcmp(word, "garbage") == 0)
        write_garbage();
    else if (strcmp(word, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(word, "leave") == 0)
        _exit(0);
    else if (strcmp(word, "fork") == 0)
        fork();
    else if (strcmp(word, "say") == 0 && count_left > 1)
        return puts(words[1]), fflush(stdout), 2;
    else if (strcmp(word, "pid") == 0 && count_left > 1)
        return lie_about_pid((int32_t)strtol(words[1], NULL, 10)), 2;
    else if (strcmp(word, "rank") == 0 && count_left > 2)
        return segment_set_rank(&segment, (int)strtol(words[1], NULL, 10), (int)strtol(words[2], NULL, 10)), 3;
    else if (count_left > 2 && strcmp(word, "programs") == 0)
        return run_programs(words), 3;
    else if (count_left > 3 && strcmp(word, "hurry") == 0)
        return hurry(words), 4;
    else if (count_left > 3 && strcmp(word, "counter") == 0)
        return count(words), 4;
    else if (count_left > 3 && strcmp(word, "ticks") == 0)
        return count_ticks(words), 4;
    else if (count_left > 3 && strcmp(word, "observe") == 0)
        return observe(words), 4;
    else if (count_left > 3 && strcmp(word, "gauge") == 0)
        return segment_gauge_set(segment_slots(&segment, make(SEGMENT_GAUGE, SEGMENT_F64, words)), strtod(words[3], NULL)), 4;
    else
        exit(2);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    bool has_subject = argc > 5 && strcmp(argv[2], "subject") == 0;
    if (has_subject)
        segment_set_subject(&segment, &(struct segment_subject){ (int32_t)strtol(argv[3], NULL, 10),
                                                         (uint32_t)strtoul(argv[4], NULL, 10), argv[5] });
    segment_open(&segment, argv[1]);
    for (int i = has_subject ? 6 : 2; i < argc;)
        i += act(argv + i, argc - i);
    segment_end(&segment);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
