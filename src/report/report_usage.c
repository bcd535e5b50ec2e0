/* Resource usage: bars relative to the allocation, timelines, and what the job waited for. */
#include "report/report.h"

#include "analysis/phrase.h"
#include "report/bars.h"
#include "report/spark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR 20    /* columns of a bar and of a timeline on a page of full width; fewer on a narrow terminal */
#define BAR_MIN 4
#define FIGURE 9 /* columns of the number after a bar */
#define TIMELINE_COLUMNS 48
#define TIMELINE_COLUMNS_MIN 8
#define DISK_TIMELINE_MIN 1048576.0 /* bytes/s: below this, the disk timeline is noise */
#define CORES_MIN 0.05           /* of other processes or iowait: less is not worth a line */

static size_t narrowed(const struct page *page, size_t full, size_t least)
{
    size_t missing = PAGE_WIDTH - page->width;
    return full >= least + missing ? full - missing : least;
}

/* A percentage in few columns. */
static struct format_text short_share(double share)
{
    struct format_text text;
    const char *format = share > 0 && share < 0.005 ? "<1 %%" : share < 1e4 ? "%.0f %%" : "%.0e %%";
    snprintf(text.s, sizeof text.s, format, share * 100);
    return text;
}

/* Label, bar, number, text. */
static void add_bar(struct page *page, const char *label, double share, double second, enum colour colour,
                    const char *figure, const char *text)
{
    size_t bar = narrowed(page, BAR, BAR_MIN);
    page_label(page, label);
    bars_add(page->out, &page->terminal, bar, share, second, colour);
    buf_printf(page->out, text[0] ? "%*s  " : "%*s", FIGURE, figure);
    size_t at = PAGE_INDENT + PAGE_LABEL + bar + FIGURE + 2;
    page_wrap(page, PLAIN, bytes_of(text), at, at, 0);
}

static void add_cpu(struct page *page, const struct facts *facts)
{
    double used = facts_cores_used(facts), allowed = facts_cores_allocated(facts), share = facts_kernel_share(facts);
    if (isnan(used))
        return;
    bool split = !isnan(share);
    double kernel = split ? share : 0;
    char text[160];
    if (!isnan(allowed)) {
        snprintf(text, sizeof text, "%s of %s busy", phrase_cores(used).s,
                 phrase_plural(phrase_round(allowed), "core", "cores").s);
        if (fabs(allowed - round(allowed)) > 0.05)
            snprintf(text, sizeof text, "%s of %s cores busy", phrase_cores(used).s, phrase_cores(allowed).s);
        add_bar(page, "CPU", used / allowed, kernel * used / allowed, GREEN, short_share(used / allowed).s, text);
    }
    snprintf(text, sizeof text, "%s of CPU time", phrase_duration(facts_cpu_s(facts)).s);
    if (split)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %s of it in the kernel (%s)",
                 phrase_percent(kernel).s, terminal_sign(&page->terminal, "▒", "+"));
    page_field(page, "", bytes_of(text));
}

static const char *const memory_sources[] = {
    [FACTS_MEMORY_UNKNOWN] = "",           [FACTS_MEMORY_PROCESS] = " (one process)",
    [FACTS_MEMORY_PSS] = " (PSS)",         [FACTS_MEMORY_RSS] = " (RSS sum)",
    [FACTS_MEMORY_CGROUP] = " (cgroup)",
};

static void add_memory(struct page *page, const struct facts *facts)
{
    double peak = facts_memory_peak(facts), limit = facts_memory_limit(facts);
    enum facts_memory_source from = facts_memory_source(facts);
    const char *source = memory_sources[from], *prefix = from == FACTS_MEMORY_PROCESS ? "" : "peak "; /* 80 columns */
    char text[160];
    if (isnan(peak))
        return;
    if (isnan(limit)) {
        page_printf(page, "memory", "%s%s%s", prefix, phrase_bytes(peak).s, source);
        return;
    }
    snprintf(text, sizeof text, "%s%s of %s%s", prefix, phrase_bytes(peak).s, phrase_bytes(limit).s, source);
    add_bar(page, "memory", peak / limit, 0, BLUE, short_share(peak / limit).s, text);
}

/* One direction of I/O, by system calls or from and to disk. */
struct flow {
    const char *label;
    enum counter bytes, calls; /* calls: COUNTERS_SIZE if they are not counted */
};

static const struct flow flows[] = {
    { "read", COUNTER_rchar, COUNTER_syscr },
    { "from disk", COUNTER_read_bytes, COUNTERS_SIZE },
    { "written", COUNTER_wchar, COUNTER_syscw },
    { "to disk", COUNTER_write_bytes, COUNTERS_SIZE },
};
#define FLOWS (sizeof flows / sizeof *flows)

static struct format_text calls_text(double calls)
{
    struct format_text text;
    if (calls < 1e6)
        return phrase_plural(phrase_round(calls), "call", "calls");
    snprintf(text.s, sizeof text.s, calls < 1e9 ? "%.1fM calls" : "%.2gM calls", calls / 1e6);
    return text;
}

static void add_flow(struct page *page, const struct facts *facts, const struct flow *flow, double most)
{
    double bytes, calls, duration_s = facts_duration_s(facts);
    char text[160] = "";
    if (!facts_io_bytes(facts, flow->bytes, &bytes))
        return;
    if (bytes > 0 && !isnan(duration_s))
        snprintf(text, sizeof text, "%s/s", phrase_bytes(bytes / duration_s).s);
    if (flow->calls < COUNTERS_SIZE && facts_sum(facts, flow->calls, &calls) && calls > 0 &&
        facts_io_is_attributed(facts, flow->bytes))
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s of %s", text[0] ? ", " : "",
                 calls_text(calls).s, phrase_bytes(bytes / calls).s);
    add_bar(page, flow->label, most > 0 ? bytes / most : 0, 0, YELLOW, phrase_bytes(bytes).s, text);
}

/* I/O has no limit to compare with: the longest bar is the largest of the four. */
static void add_flows(struct page *page, const struct facts *facts)
{
    double most = 0, bytes;
    for (size_t i = 0; i < FLOWS; i++)
        if (facts_io_bytes(facts, flows[i].bytes, &bytes))
            most = fmax(most, bytes);
    for (size_t i = 0; i < FLOWS; i++)
        add_flow(page, facts, &flows[i], most);
}

static void add_timeline(struct page *page, const struct facts *facts, enum timeline_line line, const char *label,
                      enum colour colour)
{
    double columns[TIMELINE_COLUMNS], most = fmax(timeline_peak(&facts->timeline, line), 0); /* not of the columns: averages */
    size_t width = narrowed(page, TIMELINE_COLUMNS, TIMELINE_COLUMNS_MIN);
    timeline_resample(&facts->timeline, line, columns, width);
    if (line == TIMELINE_STORAGE && most < DISK_TIMELINE_MIN)
        return;
    if (line == TIMELINE_MEMORY && facts->job.memory_bytes && most > (double)facts->job.memory_bytes)
        return; /* shared pages were counted in each process */
    page_label(page, label);
    spark_add(page->out, &page->terminal, columns, width, most, colour);
    if (line == TIMELINE_CPU)
        buf_printf(page->out, "  peak %s %s\n", phrase_cores(most).s,
                   strcmp(phrase_cores(most).s, "1") == 0 ? "core" : "cores");
    else
        buf_printf(page->out, "  peak %s%s\n", phrase_bytes(most).s, line == TIMELINE_MEMORY ? "" : "/s");
}

static void add_timelines(struct page *page, const struct facts *facts)
{
    if (facts->timeline.samples < TIMELINE_SAMPLES_MIN || isnan(facts_duration_s(facts)))
        return;
    page_heading(page, "Timeline");
    add_timeline(page, facts, TIMELINE_CPU, "CPU", GREEN);
    add_timeline(page, facts, TIMELINE_MEMORY, "memory", BLUE);
    add_timeline(page, facts, TIMELINE_STORAGE, "disk", YELLOW);
    page_label(page, "");
    spark_axis(page->out, narrowed(page, TIMELINE_COLUMNS, TIMELINE_COLUMNS_MIN), facts_duration_s(facts));
    buf_add_char(page->out, '\n');
}

static void add_switches(struct page *page, const struct facts *facts)
{
    double voluntary, involuntary;
    bool has_voluntary = facts_sum(facts, COUNTER_vol_ctxsw, &voluntary);
    bool has_involuntary = facts_sum(facts, COUNTER_invol_ctxsw, &involuntary);
    if (has_voluntary && has_involuntary)
        page_printf(page, "switches", "%s voluntary, %s involuntary", phrase_count(voluntary).s,
                    phrase_count(involuntary).s);
}

static void add_faults(struct page *page, const struct facts *facts)
{
    double minor, major;
    if (facts_sum(facts, COUNTER_minflt, &minor) && facts_sum(facts, COUNTER_majflt, &major))
        page_printf(page, "faults", "%s (%s major)",
                    phrase_plural(phrase_round(minor + major), "page fault", "page faults").s, phrase_count(major).s);
}

/* Load on the node outside the job. */
static void add_node_load(struct page *page, const struct facts *facts)
{
    double others = facts_cores_of_other_processes(facts), idle = timeline_mean(&facts->timeline, TIMELINE_IOWAIT);
    double steal = timeline_mean(&facts->timeline, TIMELINE_STEAL);
    if (others >= CORES_MIN)
        page_printf(page, "other load", "other processes used %s of the node's %s", phrase_cores(others).s,
                    phrase_plural(facts->job.cores, "core", "cores").s);
    if (steal >= CORES_MIN)
        page_printf(page, "steal", "%s cores, given to other guests by the hypervisor", phrase_cores(steal).s);
    if (facts->timeline.samples >= TIMELINE_SAMPLES_MIN && idle >= CORES_MIN)
        page_printf(page, "iowait", "%s of the node's %s idle while waiting for disk", phrase_cores(idle).s,
                    phrase_plural(facts->job.cores, "core", "cores").s);
}

static void add_waiting(struct page *page, const struct facts *facts)
{
    double waiting_s = facts_waiting_s(facts), blocked_us, share = facts_run_queue_share(facts);
    size_t section = page_heading(page, "Waiting");
    if (!isnan(waiting_s)) {
        char text[120] = "";
        if (!isnan(share))
            snprintf(text, sizeof text, ", %s of runnable time", phrase_percent(share).s);
        page_printf(page, "CPU wait", "%s%s", phrase_duration(waiting_s).s, text);
    }
    if (facts_sum(facts, COUNTER_delayacct_blkio_time, &blocked_us))
        page_printf(page, "disk wait", "%s", phrase_duration(blocked_us / 1e6).s);
    add_switches(page, facts);
    add_faults(page, facts);
    add_node_load(page, facts);
    page_end_section(page, section);
}

void report_usage(struct page *page, const struct facts *facts)
{
    size_t section = page_heading(page, "Resource usage");
    add_cpu(page, facts);
    add_memory(page, facts);
    add_flows(page, facts);
    page_end_section(page, section);
    add_timelines(page, facts);
    add_waiting(page, facts);
}
