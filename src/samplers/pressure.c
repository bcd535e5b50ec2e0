/* Pressure stall information, from /proc/pressure/{cpu,memory,io,irq}: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
 * and the same for "full". One sample per file; irq has no "some", and old kernels have no irq. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/scan.h"
#include "proc/textfile.h"
#include "samplers/counter.h"

#include <stdio.h>
#include <string.h>

static const struct metric metrics[] = {
    { "some", "us", COUNTER, U64, "time in which at least one task was stalled on the resource", "some total" },
    { "some_avg10", "%", GAUGE, F64, "share of the last 10 seconds in which at least one task was stalled", "some avg10" },
    { "some_avg60", "%", GAUGE, F64, "the same over the last minute", "some avg60" },
    { "some_avg300", "%", GAUGE, F64, "the same over the last 5 minutes", "some avg300" },
    { "full", "us", COUNTER, U64, "time in which all non-idle tasks were stalled on the resource", "full total" },
    { "full_avg10", "%", GAUGE, F64, "share of the last 10 seconds in which all non-idle tasks were stalled", "full avg10" },
    { "full_avg60", "%", GAUGE, F64, "the same over the last minute", "full avg60" },
    { "full_avg300", "%", GAUGE, F64, "the same over the last 5 minutes", "full avg300" },
};

#define METRICS (sizeof metrics / sizeof *metrics)
#define KEYS 4 /* per line */

static const struct set set = { "pressure", metrics, METRICS, "resource" };

static const char *const names[] = { "cpu", "memory", "io", "irq" };
#define FILES (sizeof names / sizeof *names)

struct pressure {
    struct textfile files[FILES];
    uint64_t last[FILES][METRICS];
};

static void pressure_close(void *state)
{
    struct pressure *pressure = state;
    for (size_t i = 0; i < FILES; i++)
        textfile_close(&pressure->files[i]);
}

/* With psi=0 the files exist, but reading them is not supported. */
static enum err pressure_open(void *state, const struct sampler_context *context)
{
    struct pressure *pressure = state;
    enum err err = ABSENT;
    for (size_t i = 0; i < FILES; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/pressure/%s", names[i]);
        enum err one = textfile_open(&pressure->files[i], context->root, path, TEXTFILE_WHOLE);
        err = !one || (one == DENIED && err) ? one : err;
    }
    return err;
}

/* Parses "avg10=0.00 avg60=…" of a "some" or "full" line. */
static void set_line(struct sample *sample, const char *line, size_t first, uint64_t *last)
{
    for (const char *at = line; at && *at && *at != '\n'; at += strcspn(at, " \n"), at += *at == ' ') {
        size_t i = first, key = strcspn(at, "= \n");
        if (at[key] != '=')
            continue;
        const char *number = at + key + 1;
        while (i < first + KEYS && (strncmp(metrics[i].source + 5, at, key) != 0 || metrics[i].source[5 + key]))
            i++;
        uint64_t total;
        double average;
        if (i == first && scan_u64(&number, &total))
            counter_set(sample, i, total, &last[i]);
        else if (i != first && i < first + KEYS && scan_decimal(&number, &average))
            sample_set_f64(sample, i, average);
    }
}

static enum err pressure_read(void *state, struct batch *out)
{
    struct pressure *pressure = state;
    for (size_t i = 0; i < FILES; i++) {
        struct textfile *file = &pressure->files[i];
        if (!file->is_open || textfile_read(file) != OK)
            continue;
        struct sample *sample = batch_add(out, &set, clock_realtime_ns(), names[i]);
        if (!sample)
            return NOMEM;
        set_line(sample, scan_line(file->text, "some "), 0, pressure->last[i]);
        set_line(sample, scan_line(file->text, "full "), KEYS, pressure->last[i]);
    }
    return OK;
}

const struct sampler sampler_pressure = {
    .name = "pressure",
    .about = "time that tasks were stalled on CPU, memory or I/O",
    .absent_reason = "The kernel has no pressure stall information, or it is switched off",
    .absent_fix = "Boot with psi=1",
    .set = &set,
    .state_size = sizeof(struct pressure),
    .open = pressure_open,
    .read = pressure_read,
    .close = pressure_close,
};
