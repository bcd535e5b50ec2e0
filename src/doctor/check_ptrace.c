/* It is tried out on a child of ours. */
#include "doctor/check_ptrace.h"

#include "base/file.h"
#include "base/scan.h"
#include "base/text.h"
#include "syscalls/tracer_cost.h"
#include "syscalls/tracer_filter.h"

#define YAMA "/proc/sys/kernel/yama/ptrace_scope"
#define CAPABILITY_PTRACE 19 /* CAP_SYS_PTRACE */
#define STATUS_ROOM 4096

static bool has_capability(void)
{
    char status[STATUS_ROOM];
    const char *line;
    uint64_t bits = 0;
    if (file_read(NULL, "/proc/self/status", status, sizeof status, NULL) != OK || !(line = scan_line(status, "CapEff:")))
        return false;
    for (line += 1; *line && *line != '\n'; line++)
        bits = bits << 4 | (uint64_t)(*line >= 'a' ? *line - 'a' + 10 : *line >= '0' ? *line - '0' : 0);
    return bits >> CAPABILITY_PTRACE & 1;
}

/* What this user may trace. */
static void tell_reach(struct finding *finding, const char *root, uint64_t cost_ns)
{
    char scope[16] = "0";
    file_read_line(root, YAMA, scope, sizeof scope); /* without Yama it is as if it were 0 */
    struct text cost = text_duration(cost_ns);
    const char *which = tracer_filter_is_there() ? "" : "; no seccomp filters here: under sonde run --ptrace all calls stop";
    if (has_capability())
        finding_there(finding, "sonde attach can watch any process, sonde run --ptrace any command, static and Go programs "
                      "too; with ptrace a call takes %s longer%s", cost.s, which);
    else if (scope[0] == '0')
        finding_there(finding, "sonde attach can watch processes of yours, sonde run --ptrace any command, static and Go "
                      "programs too; a call takes %s longer%s", cost.s, which);
    else
        finding_missing(finding, "Start programs with sonde run -s or sonde run -s --ptrace, attach as root, or set "
                        "kernel.yama.ptrace_scope to 0",
                        "ptrace works, but this machine lets only a program's parents trace it (ptrace_scope is %s)", scope);
}

void doctor_ptrace(const struct place *place, struct finding *finding)
{
    struct tracer_cost cost;
    enum err err = tracer_cost_measure(&cost);
    if (err)
        finding_missing(finding, "Attach as root; in a container, add the capability SYS_PTRACE",
                        "ptrace is not allowed here: neither sonde attach nor sonde run --ptrace can count: %s", err_text(err));
    else
        tell_reach(finding, place->root, cost.traced_ns > cost.bare_ns ? cost.traced_ns - cost.bare_ns : 0);
}
