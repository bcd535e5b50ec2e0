/* Performance events: one of each sort is tried, as sonde run -e would. */
#include "show/doctor_perf.h"

#include "base/file.h"
#include "sample/perf.h"
#include "sample/perf_pfm.h"
#include "wire/probe_env.h"

#include <stdio.h>

static void try_event(const struct place *place, const char *name, struct finding *finding)
{
    struct perf_event_spec spec;
    struct perf_trouble trouble;
    char paranoid[32];
    if (file_read_line(place->root, "/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid))
        snprintf(paranoid, sizeof paranoid, "not there");
    enum err err = perf_resolve_one(name, &spec, &trouble);
    if (err == DENIED)
        finding_missing(finding, trouble.remedy, "%s: %s (kernel.perf_event_paranoid is %s)", name, trouble.reason,
                        paranoid);
    else if (err)
        finding_missing(finding, trouble.remedy, "%s: %s", name, trouble.reason);
    else
        finding_there(finding, "%s works%s", name,
                      spec.exclude & PROBE_EXCLUDE_KERNEL ? ", in user mode only (kernel.perf_event_paranoid)" : "");
}

void doctor_perf_software(const struct place *place, struct finding *finding)
{
    try_event(place, "page-faults", finding);
}

void doctor_perf_kernel(const struct place *place, struct finding *finding)
{
    try_event(place, "context-switches", finding);
}

void doctor_perf_hardware(const struct place *place, struct finding *finding)
{
    try_event(place, "instructions", finding);
}

void doctor_perf_libpfm(const struct place *place, struct finding *finding)
{
    (void)place;
    if (perf_pfm_is_there())
        finding_there(finding, "the processor's own event names are known");
    else
        finding_missing(finding, "apt install libpfm4",
                        "The library is not installed: events have the kernel's names only");
}
