/* The sink to copy: it takes everything and counts it. Values come from model/batch.h and go nowhere. Name your file and
 * its constant after what it writes to (sinks/csv/csv.c, sink_csv), and list it in sinks/sink.c and sink/meson.build. */
#include "sinks/sink.h"

/* All that the sink knows. Zeroed before the settings are applied; freed by the caller, after close. What you allocate
 * yourself in open, you free in close. */
struct null_state {
    uint64_t limit; /* a setting: written by the settings table through its offset */
    uint64_t samples, values;
};

/* One row per setting: key, type, default, where it goes, what it means. It parses, checks and documents. */
static const struct setting null_settings[] = {
    { "limit", SETTING_U64, "0", offsetof(struct null_state, limit), "report FULL after so many samples; 0: never" },
    { 0 },
};

/* Open files and connections here. Return ABSENT or DENIED rather than print: whoever called you tells the person. */
static enum err null_open(void *state)
{
    struct null_state *s = state;
    s->samples = s->values = 0;
    return OK;
}

/* The batch is borrowed: copy what you keep. A value is there only when its known is 1 (or known is NULL); what is not
 * known must not become 0 on the other side. Its type (u64, i64, f64) stands in the metric. */
static enum err null_write(void *state, const struct batch *batch)
{
    struct null_state *s = state;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        if (s->limit && s->samples == s->limit)
            return FULL;
        s->samples++;
        for (size_t k = 0; k < sample->set->size; k++)
            s->values += !sample->known || sample->known[k];
    }
    return OK;
}

/* Do not return OK before what was written would survive a power cut. Give up with AGAIN at the deadline. */
static enum err null_flush(void *state, uint64_t deadline_ns)
{
    (void)state, (void)deadline_ns;
    return OK;
}

/* Also called after a write that failed. */
static void null_close(void *state)
{
    (void)state;
}

/* The one name that others see. */
const struct sink sink_null = {
    .name = "null",
    .about = "takes everything and forgets it: the file to copy, and a way to measure the rest",
    .settings = null_settings,
    .state_size = sizeof(struct null_state),
    .open = null_open,
    .write = null_write,
    .flush = null_flush,
    .close = null_close,
};
