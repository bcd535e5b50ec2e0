/* Converts the kernel's struct taskstats. Offsets are those of the kernel's documented layout; fields are copied one by
 * one because netlink aligns to 4 bytes only. */
#include "proc/taskstats.h"

#include "base/clock.h"

#include <linux/acct.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <string.h>

#define SIZE_VERSION_14 432u /* everything before the maximum and minimum delays */
#define DELAY_KINDS 8u
#define VERSION_WITH_TGID 12
#define VERSION_WITH_BTIME64 10

struct taskstats_layout {
    struct bytes stats;
    unsigned version;
    size_t delay_extra; /* bytes after each delay total: version 15 only */
};

/* Version 15 added 8 bytes per kind of delay in its first form and 16 in the released one. */
static size_t delay_extra(unsigned version, size_t size)
{
    if (version != 15 || size < SIZE_VERSION_14)
        return 0;
    return (size - SIZE_VERSION_14) / DELAY_KINDS & ~(size_t)7;
}

/* The number of delay kinds before this offset of the regular layout. */
static size_t delays_before(size_t offset)
{
    static const size_t ends[] = {
        offsetof(struct taskstats, cpu_delay_total),       offsetof(struct taskstats, blkio_delay_total),
        offsetof(struct taskstats, swapin_delay_total),    offsetof(struct taskstats, freepages_delay_total),
        offsetof(struct taskstats, thrashing_delay_total), offsetof(struct taskstats, compact_delay_total),
    };
    size_t count = 0;
    while (count < sizeof ends / sizeof *ends && offset > ends[count])
        count++;
    return count;
}

static const char *field_at(const struct taskstats_layout *layout, size_t offset, size_t size)
{
    if (layout->delay_extra)
        offset += delays_before(offset) * layout->delay_extra;
    return offset + size <= layout->stats.size ? layout->stats.data + offset : NULL;
}

static uint64_t u64_at(const struct taskstats_layout *layout, size_t offset)
{
    uint64_t value = 0;
    const char *at = field_at(layout, offset, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t u32_at(const struct taskstats_layout *layout, size_t offset)
{
    uint32_t value = 0;
    const char *at = field_at(layout, offset, sizeof value);
    if (at)
        memcpy(&value, at, sizeof value);
    return value;
}

#define U64(layout, field) u64_at(layout, offsetof(struct taskstats, field))
#define U32(layout, field) u32_at(layout, offsetof(struct taskstats, field))

/* The scheduler's clock is exact; user and system time only split it by ticks. */
static void convert_cpu(const struct taskstats_layout *l, struct counters *c)
{
    uint64_t user_us = U64(l, ac_utime), system_us = U64(l, ac_stime), exact_ns = U64(l, cpu_run_virtual_total);
    if (exact_ns) {
        uint64_t total_us = exact_ns / NS_PER_US;
        double split_us = (double)user_us + (double)system_us;
        user_us = system_us ? (uint64_t)((double)total_us * ((double)user_us / split_us)) : total_us;
        system_us = total_us - user_us;
        counters_set(c, COUNTER_time_oncpu, exact_ns);
        counters_set(c, COUNTER_time_waiting, U64(l, cpu_delay_total));
        counters_set(c, COUNTER_timeslices, U64(l, cpu_count));
    }
    counters_set(c, COUNTER_usertime, user_us);
    counters_set(c, COUNTER_systemtime, system_us);
}

/* The kernel rounds these down to a multiple of 1024, even numbers of system calls, which are useless then; and a 0 is
 * not known to be one. Storage I/O is in pages, so nothing is lost. */
static void convert_io(const struct taskstats_layout *l, struct counters *c)
{
    uint64_t rchar = U64(l, read_char), wchar = U64(l, write_char);
    if (rchar)
        counters_set(c, COUNTER_rchar, rchar);
    if (wchar)
        counters_set(c, COUNTER_wchar, wchar);
    counters_set(c, COUNTER_read_bytes, U64(l, read_bytes));
    counters_set(c, COUNTER_write_bytes, U64(l, write_bytes));
    counters_set(c, COUNTER_cancelled_write_bytes, U64(l, cancelled_write_bytes));
    counters_set(c, COUNTER_inblock, U64(l, read_bytes) / 512);
    counters_set(c, COUNTER_outblock, U64(l, write_bytes) / 512);
}

static void convert_counters(const struct taskstats_layout *l, const struct taskstats_accounting *accounting,
                             struct counters *c)
{
    convert_cpu(l, c);
    counters_set(c, COUNTER_minflt, U64(l, ac_minflt));
    counters_set(c, COUNTER_majflt, U64(l, ac_majflt));
    counters_set(c, COUNTER_vol_ctxsw, U64(l, nvcsw));
    counters_set(c, COUNTER_invol_ctxsw, U64(l, nivcsw));
    if (U64(l, hiwater_rss))
        counters_set(c, COUNTER_rssmax, U64(l, hiwater_rss));
    if (accounting->io)
        convert_io(l, c);
    if (accounting->delays)
        counters_set(c, COUNTER_delayacct_blkio_time, U64(l, blkio_delay_total) / NS_PER_US);
}

/* The record has the elapsed time in µs but the start in whole seconds: the end is the time of reading, limited to the
 * second that these two allow. */
static void convert_times(const struct taskstats_layout *l, uint64_t now_ns, struct taskstats_record *record)
{
    uint64_t begin_s = l->version >= VERSION_WITH_BTIME64 ? U64(l, ac_btime64) : U32(l, ac_btime);
    uint64_t elapsed_us = U64(l, ac_etime);
    uint64_t elapsed_s = elapsed_us / 1000000;
    record->end_ns = now_ns;
    if (begin_s && begin_s < UINT64_MAX / NS_PER_S - elapsed_s - 1) {
        uint64_t earliest_ns = (begin_s + elapsed_s) * NS_PER_S, latest_ns = earliest_ns + NS_PER_S - 1;
        if (record->end_ns > latest_ns)
            record->end_ns = latest_ns;
        if (record->end_ns < earliest_ns)
            record->end_ns = earliest_ns;
    }
    uint64_t elapsed_ns = elapsed_us < UINT64_MAX / NS_PER_US ? elapsed_us * NS_PER_US : UINT64_MAX;
    record->start_ns = record->end_ns > elapsed_ns ? record->end_ns - elapsed_ns : 0;
}

/* CORRUPT: too short for its version. */
static enum err open_layout(struct taskstats_layout *layout, struct bytes stats)
{
    uint16_t version;
    if (stats.size < offsetof(struct taskstats, freepages_count))
        return CORRUPT;
    memcpy(&version, stats.data, sizeof version);
    *layout = (struct taskstats_layout){ stats, version, delay_extra(version, stats.size) };
    bool has_tgid = field_at(layout, offsetof(struct taskstats, ac_tgid), sizeof(uint32_t));
    return version >= VERSION_WITH_TGID && !has_tgid ? CORRUPT : OK;
}

enum err taskstats_convert(struct bytes stats, const struct taskstats_accounting *accounting,
                           struct taskstats_record *record)
{
    struct taskstats_layout layout;
    *record = (struct taskstats_record){ 0 };
    if (open_layout(&layout, stats))
        return CORRUPT;
    unsigned version = layout.version;
    record->tid = U32(&layout, ac_pid);
    record->ppid = U32(&layout, ac_ppid);
    record->uid = U32(&layout, ac_uid);
    record->status = U32(&layout, ac_exitcode);
    if (version >= VERSION_WITH_TGID) {
        record->pid = U32(&layout, ac_tgid);
        record->process_ended = (uint8_t)stats.data[offsetof(struct taskstats, ac_flag)] & AGROUP ? 1 : 0;
    }
    const char *name = field_at(&layout, offsetof(struct taskstats, ac_comm), TS_COMM_LEN);
    if (name)
        record->name = (struct bytes){ name, strnlen(name, TS_COMM_LEN) };
    convert_times(&layout, accounting->now_ns, record);
    convert_counters(&layout, accounting, &record->counters);
    return OK;
}

enum join { ADD, SMALLER, LARGER };
enum needs { ALWAYS, IO_COUNTS, IO_CUT, DELAYS, MARKS };

struct taskstats_field_layout {
    uint16_t offset, size;
    uint16_t factor;
    uint8_t join, needs;
};

#define NEEDS_ALWAYS ALWAYS
#define NEEDS_IO IO_COUNTS
#define NEEDS_CUT IO_CUT
#define NEEDS_DELAYS DELAYS
#define NEEDS_MARKS MARKS

static const struct taskstats_field_layout fields[] = {
#define X(field, name, unit, factor, kind, join, needs, help) \
    { offsetof(struct taskstats, field), sizeof((struct taskstats *)0)->field, factor, join, NEEDS_##needs },
    TASKSTATS_FIELDS(X)
#undef X
};

/* A high-water mark of 0 is that of a kernel thread, or of a task whose memory is freed. A value that the kernel rounds
 * down to a multiple of 1024 is not known to be 0. */
static bool is_valid(const struct taskstats_field_layout *field, uint64_t value,
                     const struct taskstats_accounting *accounting)
{
    switch (field->needs) {
    case IO_COUNTS: return accounting->io;
    case IO_CUT: return accounting->io && value != 0;
    case DELAYS: return accounting->delays;
    case MARKS: return value != 0;
    default: return true;
    }
}

static void extract_fields(const struct taskstats_layout *layout, const struct taskstats_accounting *accounting,
                           struct taskstats_usage *usage)
{
    for (size_t i = 0; i < TASKSTATS_SIZE; i++) {
        uint64_t value = 0;
        const char *at = field_at(layout, fields[i].offset, fields[i].size);
        if (!at)
            continue;
        if (fields[i].size == sizeof(uint32_t))
            value = u32_at(layout, fields[i].offset);
        else
            memcpy(&value, at, sizeof value);
        if (!is_valid(&fields[i], value, accounting))
            continue;
        usage->value[i] = value * fields[i].factor;
        usage->known |= 1ull << i;
    }
}

enum err taskstats_extract(struct bytes stats, const struct taskstats_accounting *accounting,
                           struct taskstats_usage *usage)
{
    struct taskstats_layout layout;
    *usage = (struct taskstats_usage){ 0 };
    if (open_layout(&layout, stats))
        return CORRUPT;
    unsigned version = layout.version;
    usage->tid = U32(&layout, ac_pid);
    usage->ppid = U32(&layout, ac_ppid);
    usage->begin_s = version >= VERSION_WITH_BTIME64 ? U64(&layout, ac_btime64) : U32(&layout, ac_btime);
    if (version >= VERSION_WITH_TGID) {
        usage->pid = U32(&layout, ac_tgid);
        usage->process_ended = (uint8_t)stats.data[offsetof(struct taskstats, ac_flag)] & AGROUP;
    }
    extract_fields(&layout, accounting, usage);
    return OK;
}

void taskstats_merge(struct taskstats_usage *sum, const struct taskstats_usage *usage)
{
    for (size_t i = 0; i < TASKSTATS_SIZE; i++) {
        bool is_first = !(sum->known >> i & 1);
        if (!(usage->known >> i & 1))
            continue;
        if (fields[i].join == ADD)
            sum->value[i] += usage->value[i];
        else if (is_first || (fields[i].join == SMALLER) == (usage->value[i] < sum->value[i]))
            sum->value[i] = usage->value[i];
    }
    sum->known |= usage->known;
}

void taskstats_subtract(struct taskstats_usage *sum, const struct taskstats_usage *usage)
{
    for (size_t i = 0; i < TASKSTATS_SIZE; i++)
        if (fields[i].join == ADD && usage->known >> i & 1)
            sum->value[i] -= usage->value[i] < sum->value[i] ? usage->value[i] : sum->value[i];
}

void taskstats_clamp_counters(struct taskstats_usage *now, const struct taskstats_usage *before)
{
    for (size_t i = 0; i < TASKSTATS_SIZE; i++) {
        if (fields[i].join != ADD || !(before->known >> i & 1))
            continue;
        if (now->value[i] < before->value[i])
            now->value[i] = before->value[i];
        now->known |= 1ull << i;
    }
}
