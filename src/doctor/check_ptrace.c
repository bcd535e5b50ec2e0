/* Traces a child process to find out whether ptrace works. */
#include "doctor/check_ptrace.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scan.h"
#include "syscalls/tracer_cost.h"
#include "syscalls/tracer_filter.h"

#define YAMA "/proc/sys/kernel/yama/ptrace_scope"
#define CAPABILITY_PTRACE 19 /* CAP_SYS_PTRACE */
#define STATUS_CAPACITY 4096

static bool has_capability(void)
{
    char status[STATUS_CAPACITY];
    const char *line;
    uint64_t bits = 0;
    if (file_read(NULL, "/proc/self/status", status, sizeof status, NULL) != OK || !(line = scan_line(status, "CapEff:")))
        return false;
    for (line += 1; *line && *line != '\n'; line++)
        bits = bits << 4 | (uint64_t)(*line >= 'a' ? *line - 'a' + 10 : *line >= '0' ? *line - '0' : 0);
    return bits >> CAPABILITY_PTRACE & 1;
}

/* Reports what this user may trace. */
static void report_reach(struct finding *finding, const char *root, uint64_t cost_ns)
{
    char scope[16] = "0";
    file_read_line(root, YAMA, scope, sizeof scope); /* a missing Yama is the same as 0 */
    struct format_text cost = format_duration(cost_ns);
    const char *which = tracer_filter_is_available() ? "" : "; without seccomp filters, sonde run --ptrace stops at every call";
    if (has_capability())
        finding_available(finding, "sonde attach works for any process, sonde run --ptrace for any command, including "
                                   "static and Go programs; with ptrace a call takes %s longer%s", cost.s, which);
    else if (scope[0] == '0')
        finding_available(finding, "sonde attach works for your own processes, sonde run --ptrace for any command, "
                                   "including static and Go programs; a call takes %s longer%s", cost.s, which);
    else
        finding_missing(finding, "Start programs with sonde run -s or sonde run -s --ptrace, attach as root, or set "
                                 "kernel.yama.ptrace_scope to 0",
                        "ptrace works, but only for descendants of the tracer (ptrace_scope is %s)", scope);
}

void check_ptrace(const struct doctor_target *target, struct finding *finding)
{
    struct tracer_cost cost;
    enum err err = tracer_cost_measure(&cost);
    if (err)
        finding_missing(finding, "Attach as root; in a container, add the capability SYS_PTRACE",
                        "ptrace is not allowed, so sonde attach and sonde run --ptrace do not work: %s", err_text(err));
    else
        report_reach(finding, target->root, cost.traced_ns > cost.bare_ns ? cost.traced_ns - cost.bare_ns : 0);
}
