/* The end record of a process. exit() and a return from main get here through on_exit; _exit and quick_exit are
 * wrapped. */
#include "probe/process/probe.h"

#include <stdlib.h>
#include <sys/prctl.h>

static bool any(const struct counters *counters)
{
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (counters_get(counters, (enum counter)i))
            return true;
    return false;
}

static void copy_io(struct counters *to, const struct counters *from)
{
    for (int i = COUNTER_rchar; i <= COUNTER_cancelled_write_bytes; i++)
        if (counters_has(from, (enum counter)i))
            counters_set(to, (enum counter)i, from->value[i]);
}

/* In a process without other threads and without reaped children, the io file of the process and that of its main
 * thread are the same: read only one. */
static void read_main(struct end_record *record, char name[17])
{
    struct read_stat stat = { .name_size = 0 };
    bool alone = !threads_made() && !any(&record->children);
    if (probe_in_main_thread()) {
        read_this_thread(&record->main, alone ? "/proc/self" : "/proc/thread-self", alone ? READ_ALONE : READ_MAIN);
        if (threads_made() && sys2(SYS_prctl, PR_GET_NAME, name) == 0)
            record->name = (struct bytes){ name, strlen(name) };
    } else {
        read_other_thread(&record->main, probe.pid, &stat);
        memcpy(name, stat.name, stat.name_size);
        record->name = (struct bytes){ name, stat.name_size };
    }
    if (alone)
        copy_io(&record->whole_io, &record->main);
    else
        read_io(&record->whole_io, AT_FDCWD, "/proc/self/io", READ_PROCESS);
    if (probe.start_ticks)
        counters_set(&record->main, COUNTER_starttime, read_ticks_us(probe.start_ticks));
}

/* The names papiex uses for the totals of the children. */
static void add_children(struct counters *main, const struct counters *children)
{
    counters_set(main, COUNTER_cutime, counters_get(children, COUNTER_usertime));
    counters_set(main, COUNTER_cstime, counters_get(children, COUNTER_systemtime));
    counters_set(main, COUNTER_cminflt, counters_get(children, COUNTER_minflt));
    counters_set(main, COUNTER_cmajflt, counters_get(children, COUNTER_majflt));
}

/* If the peak has not grown since the image started, it was reached by an earlier one, such as a forked copy of a large
 * process. */
static void read_own_rss(struct end_record *record)
{
    uint64_t kb = counters_get(&record->self, COUNTER_rssmax);
    if (probe.has_taskstats)
        return;
    record->rss_is_own = kb > probe.rss_before_kb || read_image_rss(&kb);
    if (record->rss_is_own)
        counters_set(&record->self, COUNTER_rssmax, kb);
}

static void add_written(struct counters *counters, const struct unflushed *unflushed)
{
    if (!counters_has(counters, COUNTER_wchar) || !unflushed->bytes)
        return;
    counters_set(counters, COUNTER_wchar, counters->value[COUNTER_wchar] + unflushed->bytes);
    counters_set(counters, COUNTER_syscw, counters_get(counters, COUNTER_syscw) + unflushed->calls);
    if (unflushed->has_file) /* the file system decides how many pages that will be */
        counters->known &= ~(1ull << COUNTER_write_bytes | 1ull << COUNTER_cancelled_write_bytes);
}

/* The kernel will count it for the thread that calls exit. */
static void add_unflushed(struct end_record *record, bool is_alone)
{
    struct unflushed unflushed = unflushed_read(is_alone);
    add_written(&record->whole_io, &unflushed);
    if (probe_in_main_thread())
        add_written(&record->main, &unflushed);
}

static void end_write(int status, bool will_flush)
{
    char name[17] = "";
    struct end_record record = {
        .pid = (uint64_t)probe.pid,
        .time_ns = probe_now_ns(),
        .exit_code = (uint64_t)(status & 0xff),
        .pgid = (uint64_t)sys1(SYS_getpgid, 0),
        .sid = (uint64_t)sys1(SYS_getsid, 0),
        .threads = threads_made() + 1,
    };
    read_usage(&record.children, RUSAGE_CHILDREN);
    read_main(&record, name);
    add_children(&record.main, &record.children);
    unsigned others = threads_emit_live();
    counters_set(&record.main, COUNTER_num_threads, others + 1);
    if (will_flush)
        add_unflushed(&record, others == 0);
    record_batch_close();
    read_usage(&record.self, RUSAGE_SELF);
    read_own_rss(&record);

    uint8_t frame[EMIT_BOUND(4)];
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_end(&packer, &record);
    emit_end(frame, &packer, RECORD_KIND_end);
}

void end_emit(int status, bool will_flush)
{
    if (probe_is_active() && probe_is_own_process() && !atomic_exchange(&probe.end_is_recorded, true))
        end_write(status, will_flush);
}
