/* The sampler to copy. It reads nothing and counts its own readings. In your file, say here in two to five lines what the
 * sensor is, which file or call the numbers come from, and what a reading costs. */
#include "samplers/all.h"

#include "base/clock.h"

/* name, unit, kind, type, help. Names are lower case and without the unit; names and units are a public contract. A
 * COUNTER only grows, and people look at its rate; a GAUGE is a level. */
static const struct metric metrics[] = {
    { "ticks", "1", COUNTER, U64, "times that the sampler was read" },
    { "step", "1", GAUGE, U64, "the setting of that name, as an example of a setting" },
};

/* The index of each metric, in the order above. */
enum { TICKS, STEP, METRICS };

static const struct set set = { "null", metrics, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

/* What is kept between two readings, above all open files. Allocated by the caller: zeroed, then the settings filled in. */
struct null_sampler {
    uint64_t step;
    uint64_t ticks;
};

/* key, type, default, offset, help: parses, checks and documents each setting. Omit the table if there are none. */
static const struct setting settings[] = {
    { "step", SETTING_U64, "1", offsetof(struct null_sampler, step), "added to ticks at each reading" },
    { .key = NULL },
};

/* Opens the files to read, all below context->root. Returns ABSENT if this node does not have the sensor. Before it returns
 * an error it closes whatever it opened. */
static enum err null_open(void *state, const struct sampler_context *context)
{
    (void)state;
    (void)context;
    return OK;
}

/* Adds one sample per instance. A value that cannot be read is not set; it must not become 0. Nothing is allocated here:
 * batch_add reuses the batch's memory. */
static enum err null_read(void *state, struct batch *out)
{
    struct null_sampler *null = state;
    null->ticks += null->step;
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    sample_set_u64(sample, TICKS, null->ticks);
    sample_set_u64(sample, STEP, null->step);
    return OK;
}

/* Closes what open opened. The caller frees the state. Omit the function if there is nothing to close. */
static void null_close(void *state)
{
    (void)state;
}

const struct sampler sampler_null = {
    .name = "null",
    .about = "nothing: the file to copy for a new sampler",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct null_sampler),
    .open = null_open,
    .read = null_read,
    .close = null_close,
};
