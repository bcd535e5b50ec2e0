/* What the job used: bars against what was allowed, curves over time, perf events, and what it waited for. */
#include "report/report.h"

#include "analysis/phrase.h"
#include "report/bars.h"
#include "report/spark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR 20    /* columns of a bar and of a curve on a page of full width; a narrow terminal has less of them */
#define BAR_MIN 4
#define FIGURE 9 /* columns of the figure behind a bar */
#define CURVE 48
#define CURVE_MIN 8
#define DISK_CURVE_MIN 1048576.0 /* bytes/s: a curve that never reaches it is noise */
#define CORES_MIN 0.05           /* of others, or idle for storage: less is not worth a line */

static size_t narrowed(const struct page *page, size_t full, size_t least)
{
    size_t missing = PAGE_WIDTH - page->width;
    return full >= least + missing ? full - missing : least;
}

/* A share in few columns. */
static struct text short_share(double share)
{
    struct text text;
    const char *format = share > 0 && share < 0.005 ? "<1 %%" : share < 1e4 ? "%.0f %%" : "%.0e %%";
    snprintf(text.s, sizeof text.s, format, share * 100);
    return text;
}

/* label, bar, figure, text. */
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
    double used = facts_cores_used(facts), allowed = facts_cores_allowed(facts), share = facts_kernel_share(facts);
    if (isnan(used))
        return;
    bool split = !isnan(share);
    double kernel = split ? share : 0;
    char text[160];
    if (!isnan(allowed)) {
        snprintf(text, sizeof text, "%s of %s busy", say_cores(used).s,
                 say_many(say_whole(allowed), "core", "cores").s);
        if (fabs(allowed - round(allowed)) > 0.05)
            snprintf(text, sizeof text, "%s of %s cores busy", say_cores(used).s, say_cores(allowed).s);
        add_bar(page, "CPU", used / allowed, kernel * used / allowed, GREEN, short_share(used / allowed).s, text);
    }
    snprintf(text, sizeof text, "%s of CPU time", say_seconds(facts_cpu_s(facts)).s);
    if (split)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %s of it in the kernel (%s)", say_share(kernel).s,
                 terminal_sign(&page->terminal, "▒", "+"));
    page_field(page, "", bytes_of(text));
}

static void add_memory(struct page *page, const struct facts *facts)
{
    double peak = facts_memory_peak(facts), limit = facts_memory_limit(facts);
    const char *whose = facts_memory_is_of_one(facts) ? "in one process" : "at most";
    char text[160];
    if (isnan(peak))
        return;
    if (isnan(limit)) {
        page_printf(page, "memory", "%s %s", say_bytes(peak).s, whose);
        return;
    }
    snprintf(text, sizeof text, "%s of %s %s", say_bytes(peak).s, say_bytes(limit).s, whose);
    add_bar(page, "memory", peak / limit, 0, BLUE, short_share(peak / limit).s, text);
}

/* One direction of I/O, by calls or from and to disk. */
struct flow {
    const char *label;
    enum counter bytes, calls; /* calls: COUNTERS_SIZE when nobody counts them */
};

static const struct flow flows[] = {
    { "read", COUNTER_rchar, COUNTER_syscr },
    { "from disk", COUNTER_read_bytes, COUNTERS_SIZE },
    { "written", COUNTER_wchar, COUNTER_syscw },
    { "to disk", COUNTER_write_bytes, COUNTERS_SIZE },
};
#define FLOWS (sizeof flows / sizeof *flows)

static struct text calls_text(double calls)
{
    struct text text;
    if (calls < 1e6)
        return say_many(say_whole(calls), "call", "calls");
    snprintf(text.s, sizeof text.s, calls < 1e9 ? "%.1fM calls" : "%.2gM calls", calls / 1e6);
    return text;
}

static void add_flow(struct page *page, const struct facts *facts, const struct flow *flow, double most)
{
    double bytes, calls, duration_s = facts_duration_s(facts);
    char text[160] = "";
    if (!facts_moved(facts, flow->bytes, &bytes))
        return;
    if (bytes > 0 && !isnan(duration_s))
        snprintf(text, sizeof text, "%s/s", say_bytes(bytes / duration_s).s);
    if (flow->calls < COUNTERS_SIZE && facts_sum(facts, flow->calls, &calls) && calls > 0 &&
        facts_moved_is_told(facts, flow->bytes))
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s of %s", text[0] ? ", " : "",
                 calls_text(calls).s, say_bytes(bytes / calls).s);
    add_bar(page, flow->label, most > 0 ? bytes / most : 0, 0, YELLOW, say_bytes(bytes).s, text);
}

/* There is no whole to compare I/O with: the longest bar is the largest of the four. */
static void add_flows(struct page *page, const struct facts *facts)
{
    double most = 0, bytes;
    for (size_t i = 0; i < FLOWS; i++)
        if (facts_moved(facts, flows[i].bytes, &bytes))
            most = fmax(most, bytes);
    for (size_t i = 0; i < FLOWS; i++)
        add_flow(page, facts, &flows[i], most);
}

static void add_curve(struct page *page, const struct facts *facts, enum shape_line line, const char *label,
                      enum colour colour)
{
    double columns[CURVE], most = 0;
    size_t width = narrowed(page, CURVE, CURVE_MIN);
    shape_resample(&facts->shape, line, columns, width);
    for (size_t i = 0; i < width; i++)
        if (columns[i] > most)
            most = columns[i];
    if (line == SHAPE_STORAGE && most < DISK_CURVE_MIN)
        return;
    page_label(page, label);
    spark_add(page->out, &page->terminal, columns, width, most, colour);
    if (line == SHAPE_CPU)
        buf_printf(page->out, "  max %s %s\n", say_cores(most).s,
                   strcmp(say_cores(most).s, "1") == 0 ? "core" : "cores");
    else
        buf_printf(page->out, "  max %s%s\n", say_bytes(most).s, line == SHAPE_MEMORY ? "" : "/s");
}

static void add_curves(struct page *page, const struct facts *facts)
{
    if (facts->shape.samples < SHAPE_SAMPLES_MIN || isnan(facts_duration_s(facts)))
        return;
    page_heading(page, "Over time");
    add_curve(page, facts, SHAPE_CPU, "CPU", GREEN);
    add_curve(page, facts, SHAPE_MEMORY, "memory", BLUE);
    add_curve(page, facts, SHAPE_STORAGE, "disk", YELLOW);
    page_label(page, "");
    spark_axis(page->out, narrowed(page, CURVE, CURVE_MIN), facts_duration_s(facts));
    buf_add_char(page->out, '\n');
}

static void add_switches(struct page *page, const struct facts *facts)
{
    double voluntary, involuntary;
    bool has_voluntary = facts_sum(facts, COUNTER_vol_ctxsw, &voluntary);
    bool has_involuntary = facts_sum(facts, COUNTER_invol_ctxsw, &involuntary);
    if (has_voluntary && has_involuntary)
        page_printf(page, "switches", "%s because a thread had to wait, %s against its will",
                    say_count(voluntary).s, say_count(involuntary).s);
}

static void add_faults(struct page *page, const struct facts *facts)
{
    double minor, major;
    if (facts_sum(facts, COUNTER_minflt, &minor) && facts_sum(facts, COUNTER_majflt, &major))
        page_printf(page, "faults", "%s, %s of which waited for a disk",
                    say_many(say_whole(minor + major), "page fault", "page faults").s,
                    major > 0 ? say_count(major).s : "none");
}

/* What the machine did beside the job. */
static void add_machine(struct page *page, const struct facts *facts)
{
    double others = facts_cores_of_others(facts), idle = shape_mean(&facts->shape, SHAPE_IOWAIT);
    double steal = shape_mean(&facts->shape, SHAPE_STEAL);
    if (others >= CORES_MIN)
        page_printf(page, "others", "kept %s of the machine's %s busy", say_cores(others).s,
                    say_many(facts->job.cores, "core", "cores").s);
    if (steal >= CORES_MIN)
        page_printf(page, "stolen", "%s cores, by the host of this virtual machine", say_cores(steal).s);
    if (facts->shape.samples >= SHAPE_SAMPLES_MIN && idle >= CORES_MIN)
        page_printf(page, "iowait", "%s of the machine's %s idle, waiting for a disk", say_cores(idle).s,
                    say_many(facts->job.cores, "core", "cores").s);
}

static void add_waiting(struct page *page, const struct facts *facts)
{
    double waiting_s = facts_waiting_s(facts), blocked_us, share = facts_run_queue_share(facts);
    size_t section = page_heading(page, "Waiting");
    if (!isnan(waiting_s)) {
        char text[120] = "";
        if (!isnan(share))
            snprintf(text, sizeof text, ", %s of the time in which threads could run", say_share(share).s);
        page_printf(page, "for a CPU", "%s%s", say_seconds(waiting_s).s, text);
    }
    if (facts_sum(facts, COUNTER_delayacct_blkio_time, &blocked_us))
        page_printf(page, "for disk", "%s", say_seconds(blocked_us / 1e6).s);
    add_switches(page, facts);
    add_faults(page, facts);
    add_machine(page, facts);
    page_end_section(page, section);
}

void report_use(struct page *page, const struct facts *facts)
{
    size_t section = page_heading(page, "Use");
    add_cpu(page, facts);
    add_memory(page, facts);
    add_flows(page, facts);
    page_end_section(page, section);
    add_curves(page, facts);
    add_waiting(page, facts);
}
