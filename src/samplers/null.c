/* The sampler to copy: it reads nothing and counts its own ticks. Say here, in two to five lines, what the sensor is,
 * which file or call its numbers come from, and what reading it costs. */
#include "samplers/all.h"

#include "base/clock.h"

/* The metrics, in the order in which they are written below. Names in lower case, without the unit; a counter grows and
 * people look at its rate, a gauge is a level. One line of help. */
static const struct metric metrics[] = {
    { "ticks", "1", COUNTER, U64, "times that the sampler was read" },
    { "step", "1", GAUGE, U64, "the setting of that name, to show how one is used" },
};

/* One name per place in the list above, so that no number stands in the code. */
enum { TICKS, STEP, METRICS };

static const struct set set = { "null", metrics, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

/* What is kept between two reads: open files above all. It comes zeroed, with the settings filled in. */
struct null_sampler {
    uint64_t step;
    uint64_t ticks;
};

/* key, type, default, offset, help: parses, checks and documents the option. Leave it out when there is none. */
static const struct setting settings[] = {
    { "step", SETTING_U64, "1", offsetof(struct null_sampler, step), "added to ticks at each read" },
    { .key = NULL },
};

/* Opens what is to be read, below context->root. A sensor that this machine does not have is ABSENT: nobody is told,
 * but doctor lists it. Close what was opened before returning an error. */
static enum err null_open(void *state, const struct sampler_context *context)
{
    (void)state;
    (void)context;
    return OK;
}

/* Reads and adds one sample per instance. A value that is not known is not set: it must not become a 0. Allocate
 * nothing here; batch_add gives the room. */
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

/* Closes what open opened. The state itself is freed by the caller. */
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
