/* The sink `null`: counts samples and discards them. This is the file to copy for a new sink; docs/add-a-sink.md
 * lists the other files to change. Replace "null" by the name of your sink throughout. */
#include "sinks/sink.h"

#include <stdio.h>

/* Everything the sink remembers. The caller zeroes it before it applies the settings, and frees it after close. What
 * open allocates, close frees. */
struct null_state {
    uint64_t limit; /* a setting: the table below stores it here */
    uint64_t samples, values;
    char message[128];
};

/* One row per setting: key, type, default, where to store it, help. The table parses, validates and documents it. */
static const struct setting null_settings[] = {
    { "limit", SETTING_U64, "0", offsetof(struct null_state, limit), "fail with FULL after this many samples; 0: never" },
    { 0 },
};

/* Open files and connections here. Return an error instead of logging it: the caller logs null_message(). */
static enum err null_open(void *state)
{
    struct null_state *s = state;
    s->samples = s->values = 0;
    return OK;
}

/* Copy what you need later: the batch belongs to the caller. Test known before you use a value: a missing value must
 * stay missing at the destination, and must not become 0. The type of a value (u64, i64, f64) is in its metric. If
 * you return an error, nothing of the batch may count: the caller delivers it again. So this checks before it
 * counts. */
static enum err null_write(void *state, const struct batch *batch)
{
    struct null_state *s = state;
    if (s->limit && s->samples + batch->count > s->limit) {
        snprintf(s->message, sizeof s->message, "limit of %llu samples reached: raise limit", (unsigned long long)s->limit);
        return FULL;
    }
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        s->samples++;
        for (size_t k = 0; k < sample->set->size; k++)
            s->values += !sample->known || sample->known[k];
    }
    return OK;
}

/* Return OK only when everything written so far would survive a power failure. Return AGAIN when the deadline has
 * passed. */
static enum err null_flush(void *state, uint64_t deadline_ns)
{
    (void)state, (void)deadline_ns;
    return OK;
}

/* Also called after write or flush failed. */
static void null_close(void *state)
{
    (void)state;
}

/* What failed last, on what, and what to do: one line, without the name of the sink. */
static const char *null_message(const void *state)
{
    return ((const struct null_state *)state)->message;
}

/* The only symbol that other files see: add it to sinks/sink.c. A sink that talks to a server also sets .may_block;
 * one that can restart without duplicates sets .resume (see sinks/json.c). */
const struct sink sink_null = {
    .name = "null",
    .about = "counts samples and discards them, to measure everything else",
    .settings = null_settings,
    .state_size = sizeof(struct null_state),
    .open = null_open,
    .write = null_write,
    .flush = null_flush,
    .close = null_close,
    .message = null_message,
};
