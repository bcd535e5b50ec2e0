/* In the order of ldmsd's sampler: /proc/self/io, stat, statm. */
#include "compat/ldms/dstat.h"

#include <string.h>

enum unit { SAME, JIFFIES, PAGES, ZERO }; /* ZERO: the kernel always reports 0 */

#define USER_HZ_US 10000 /* USER_HZ is 100 on all supported platforms */

/* Name in LDMS, name in self, kind, type, unit. */
#define METRICS(X) \
    X(rchar, "rchar", COUNTER, U64, SAME) X(wchar, "wchar", COUNTER, U64, SAME) X(syscr, "syscr", COUNTER, U64, SAME) \
    X(syscw, "syscw", COUNTER, U64, SAME) X(read_bytes, "read_bytes", COUNTER, U64, SAME) \
    X(write_bytes, "write_bytes", COUNTER, U64, SAME) \
    X(cancelled_write_bytes, "cancelled_write_bytes", COUNTER, U64, SAME) \
    X(pid, "pid", GAUGE, U64, SAME) X(ppid, "ppid", GAUGE, U64, SAME) \
    X(minflt, "faults_minor", COUNTER, U64, SAME) X(cminflt, "faults_minor_children", COUNTER, U64, SAME) \
    X(majflt, "faults_major", COUNTER, U64, SAME) X(cmajflt, "faults_major_children", COUNTER, U64, SAME) \
    X(utime, "cpu_user", COUNTER, U64, JIFFIES) X(stime, "cpu_system", COUNTER, U64, JIFFIES) \
    X(cutime, "cpu_user_children", COUNTER, I64, JIFFIES) X(cstime, "cpu_system_children", COUNTER, I64, JIFFIES) \
    X(priority, "priority", GAUGE, I64, SAME) X(nice, "nice", GAUGE, I64, SAME) \
    X(num_threads, "threads", GAUGE, U64, SAME) X(vsize, "virtual", GAUGE, U64, SAME) X(rss, "rss", GAUGE, U64, PAGES) \
    X(rsslim, "rss_limit", GAUGE, U64, SAME) X(signal, "signals_pending", GAUGE, U64, SAME) \
    X(processor, "processor", GAUGE, U64, SAME) X(rt_priority, "rt_priority", GAUGE, U64, SAME) \
    X(policy, "policy", GAUGE, U64, SAME) X(delayacct_blkio_ticks, "io_delay", COUNTER, U64, JIFFIES) \
    X(VmSize, "virtual", GAUGE, U64, PAGES) X(VmRSS, "rss", GAUGE, U64, PAGES) X(share_pages, "shared", GAUGE, U64, PAGES) \
    X(text_pages, "text", GAUGE, U64, PAGES) X(lib_pages, "", GAUGE, U64, ZERO) X(data_pages, "data", GAUGE, U64, PAGES) \
    X(dirty_pages, "", GAUGE, U64, ZERO)

static const struct metric metrics[] = {
#define X(theirs, ours, kind, type, unit) { #theirs, "1", kind, type, "", #theirs },
    METRICS(X)
#undef X
};

static const struct { const char *ours; enum unit unit; } sources[] = {
#define X(theirs, ours, kind, type, unit) { ours, unit },
    METRICS(X)
#undef X
};

_Static_assert(sizeof metrics / sizeof *metrics == LDMS_DSTAT_SIZE, "as many metrics as ldmsd's");

const struct set ldms_dstat_set = { "self", metrics, LDMS_DSTAT_SIZE, NULL };

static bool find(const struct set *set, const union value *from, const uint8_t *known, const char *name, union value *value)
{
    for (size_t i = 0; i < set->size; i++)
        if (strcmp(set->metrics[i].name, name) == 0) {
            *value = from[i];
            return !known || known[i];
        }
    return false;
}

void ldms_dstat_fill(union value *to, uint8_t *to_known, const struct set *set, const union value *from, const uint8_t *known)
{
    union value page = { 0 };
    find(set, from, known, "page_size", &page);
    for (size_t i = 0; i < LDMS_DSTAT_SIZE; i++) {
        enum unit unit = sources[i].unit;
        to[i] = (union value){ 0 };
        to_known[i] = unit == ZERO || (find(set, from, known, sources[i].ours, &to[i]) && (unit != PAGES || page.u64));
        if (!to_known[i])
            continue;
        if (unit == JIFFIES)
            to[i].u64 /= USER_HZ_US;
        else if (unit == PAGES)
            to[i].u64 /= page.u64;
    }
}
