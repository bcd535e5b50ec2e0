/* The timer of the run, and what is sampled when it expires. */
#include "run/ticks.h"

#include "base/clock.h"
#include "run/record_batches.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/timerfd.h>
#include <unistd.h>

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

#define SURVIVOR_TICKS 100 /* a report has not many more columns, and the spool must not grow forever */

/* CLOCK_MONOTONIC, which is unaffected by clock adjustments; only the first tick is aligned to the time of day. */
static enum err start_timer(struct ticks *ticks, uint64_t period_ns)
{
    uint64_t first_ns = period_ns - clock_realtime_ns() % period_ns;
    struct itimerspec timer = { .it_interval = timespec_of(period_ns), .it_value = timespec_of(first_ns) };
    ticks->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (ticks->fd < 0 || timerfd_settime(ticks->fd, 0, &timer, NULL) != 0)
        return err_from_errno(errno);
    return OK;
}

enum err ticks_open(struct ticks *ticks, const struct sampler_context *context, uint64_t period_ns,
                    struct spool_writer *writer)
{
    *ticks = (struct ticks){ .fd = -1, .period_ns = period_ns };
    batch_init(&ticks->batch);
    sample_writer_init(&ticks->out, writer);
    enum err err = samplers_open(&ticks->samplers, NULL, context);
    if (!err)
        err = start_timer(ticks, period_ns);
    if (err)
        ticks_close(ticks);
    return err;
}

static void close_timer(struct ticks *ticks)
{
    if (ticks->fd >= 0)
        close(ticks->fd);
    ticks->fd = -1;
}

void ticks_close(struct ticks *ticks)
{
    samplers_close(&ticks->samplers);
    close_timer(ticks);
    run_syscalls_close(&ticks->calls);
    run_segments_close(&ticks->segments);
    batch_clear(&ticks->batch);
    sample_writer_clear(&ticks->out);
}

void ticks_sample(struct ticks *ticks)
{
    if (ticks->fd < 0)
        return;
    batch_reset(&ticks->batch);
    samplers_read(ticks->samplers, &ticks->batch);
    sample_writer_add(&ticks->out, &ticks->batch);
}

void ticks_sample_first(struct ticks *ticks)
{
    uint64_t passed;
    if (ticks->fd >= 0 && read(ticks->fd, &passed, sizeof passed) < 0 && errno != EAGAIN)
        return;
    ticks_sample(ticks);
}

static void sample_programs(struct ticks *ticks, bool is_last)
{
    batch_reset(&ticks->batch);
    run_syscalls_read(&ticks->calls, is_last, &ticks->batch);
    ticks->segments.calls_are_counted |= run_syscalls_are_counted(&ticks->calls);
    run_segments_read(&ticks->segments, &ticks->batch);
    sample_writer_add(&ticks->out, &ticks->batch);
}

void ticks_sample_last(struct ticks *ticks)
{
    if (ticks->fd >= 0) {
        batch_reset(&ticks->batch);
        samplers_read_last(ticks->samplers, &ticks->batch);
        sample_writer_add(&ticks->out, &ticks->batch);
    }
    sample_programs(ticks, true);
    if (run_segments_dir(&ticks->segments))
        record_batches_read(run_segments_dir(&ticks->segments), ticks->out.writer);
}

void ticks_start_survivors(struct ticks *ticks)
{
    if (ticks->fd < 0)
        return;
    close_timer(ticks);
    ticks->survivors_ns = clock_monotonic_ns();
    if (start_timer(ticks, ticks->period_ns))
        close_timer(ticks);
}

static void slow_down(struct ticks *ticks)
{
    uint64_t pause_ns = (clock_monotonic_ns() - ticks->survivors_ns) / SURVIVOR_TICKS;
    struct itimerspec timer = { .it_interval = timespec_of(pause_ns), .it_value = timespec_of(pause_ns) };
    if (ticks->survivors_ns && pause_ns > ticks->period_ns)
        timerfd_settime(ticks->fd, 0, &timer, NULL);
}

void ticks_read(struct ticks *ticks)
{
    uint64_t expired = 0;
    if (read(ticks->fd, &expired, sizeof expired) != (ssize_t)sizeof expired || !expired)
        return;
    ticks->late += expired - 1;
    ticks_sample(ticks);
    sample_programs(ticks, false);
    slow_down(ticks);
}

void ticks_record_syscall_way(struct ticks *ticks, enum syscall_way way)
{
    batch_reset(&ticks->batch);
    program_sets_add_way(&ticks->batch, clock_realtime_ns(), way);
    sample_writer_add(&ticks->out, &ticks->batch);
}
