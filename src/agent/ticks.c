/* The timer, and the way from samples to records. */
#include "agent/ticks.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define VALUES_MAX (SET_METRICS_MAX * 128) /* of one sample, or the texts of one set */

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

/* The clock that runs on when the time of day is set; only the first tick is found by the time of day. */
static enum err start_timer(struct ticks *ticks, uint64_t period_ns)
{
    uint64_t first_ns = period_ns - clock_realtime_ns() % period_ns;
    struct itimerspec timer = { .it_interval = timespec_of(period_ns), .it_value = timespec_of(first_ns) };
    ticks->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (ticks->fd < 0 || timerfd_settime(ticks->fd, 0, &timer, NULL) != 0)
        return err_from_errno(errno);
    return OK;
}

enum err ticks_open(struct ticks *ticks, const struct sampler_context *context, uint64_t period_ns, struct writer *writer)
{
    *ticks = (struct ticks){ .fd = -1, .writer = writer };
    batch_init(&ticks->batch);
    buf_init(&ticks->values, VALUES_MAX);
    enum err err = samplers_open(&ticks->samplers, NULL, context);
    if (!err)
        err = start_timer(ticks, period_ns);
    if (err)
        ticks_close(ticks);
    return err;
}

void ticks_close(struct ticks *ticks)
{
    samplers_close(&ticks->samplers);
    batch_clear(&ticks->batch);
    buf_clear(&ticks->values);
    if (ticks->fd >= 0)
        close(ticks->fd);
    ticks->fd = -1;
}

static void pack_into(struct buf *buf, uint64_t number)
{
    char *to = buf_reserve(buf, PACK_NUMBER_MAX);
    if (!to)
        return;
    struct packer p = { (uint8_t *)to, (uint8_t *)to + PACK_NUMBER_MAX, false };
    pack_number(&p, number);
    buf->size += (size_t)((char *)p.at - to);
}

static void pack_text_into(struct buf *buf, const char *text)
{
    text = text ? text : "";
    pack_into(buf, strlen(text));
    buf_add_text(buf, text);
}

static void describe(struct ticks *ticks, const struct set *set, size_t number)
{
    buf_reset(&ticks->values);
    for (size_t i = 0; i < set->size; i++) {
        const struct metric *metric = &set->metrics[i];
        pack_text_into(&ticks->values, metric->name);
        pack_text_into(&ticks->values, metric->unit);
        pack_text_into(&ticks->values, metric->help);
        pack_into(&ticks->values, metric->kind);
        pack_into(&ticks->values, metric->type);
    }
    writer_add_set(ticks->writer, &(struct set_record){
        .set = number, .name = bytes_of(set->name), .size = set->size,
        .metrics = { ticks->values.data, ticks->values.size },
    });
}

static bool is_same(const struct set *a, const struct set *b)
{
    return a->name == b->name && a->metrics == b->metrics && a->size == b->size;
}

/* Its number, after it was described once. TICKS_SETS_MAX when there are too many. */
static size_t number_of(struct ticks *ticks, const struct set *set)
{
    size_t i = 0;
    while (i < ticks->set_count && !is_same(&ticks->sets[i], set))
        i++;
    if (i == ticks->set_count && i < TICKS_SETS_MAX) {
        ticks->sets[ticks->set_count++] = *set;
        describe(ticks, set, i);
    }
    return i;
}

static void record_sample(struct ticks *ticks, const struct sample *sample)
{
    size_t number = number_of(ticks, sample->set);
    if (number == TICKS_SETS_MAX)
        return;
    buf_reset(&ticks->values);
    for (size_t i = 0; i < sample->set->size; i++) {
        bool known = !sample->known || sample->known[i];
        pack_into(&ticks->values, known);
        if (known)
            pack_into(&ticks->values, sample->values[i].u64);
    }
    writer_add_sample(ticks->writer, &(struct sample_record){
        .set = number, .instance = bytes_of(sample->instance), .time_ns = sample->time_ns,
        .values = { ticks->values.data, ticks->values.size },
    });
}

void ticks_sample(struct ticks *ticks)
{
    if (ticks->fd < 0)
        return;
    batch_reset(&ticks->batch);
    samplers_read(ticks->samplers, &ticks->batch);
    for (size_t i = 0; i < ticks->batch.count; i++)
        record_sample(ticks, &ticks->batch.samples[i]);
}

void ticks_read(struct ticks *ticks)
{
    uint64_t expired = 0;
    if (read(ticks->fd, &expired, sizeof expired) != (ssize_t)sizeof expired || !expired)
        return;
    ticks->late += expired - 1;
    ticks_sample(ticks);
}
