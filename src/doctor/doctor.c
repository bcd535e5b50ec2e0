/* The list of checks. To add one: a line here, and a function that fills in its finding. */
#include "doctor/doctor.h"

#include "samplers/samplers.h"
#include "doctor/check_syscalls.h"
#include "doctor/check_kernel.h"
#include "doctor/check_install.h"
#include "doctor/check_appmetrics.h"
#include "doctor/check_perf.h"
#include "doctor/check_ptrace.h"
#include "doctor/trial_run.h"

#include <unistd.h>

#define INSTALLATION "Sonde installation"
#define KERNEL "Kernel data"
#define EVENTS "Perf events (sonde run -e, agent sensor perf)"
#define SYSCALLS "System calls (sonde run -s, sonde attach)"
#define PROGRAMS "Program metrics"
#define SAMPLES "Sensors"

static const struct check checks[] = {
    { INSTALLATION, "probe library", true, check_install_probe },
    { INSTALLATION, "spool", true, check_install_spool },
    { INSTALLATION, "store", true, check_install_store },
    { INSTALLATION, "left-over runs", false, check_install_left_over },
    { INSTALLATION, "agent", false, check_install_agent },
    { KERNEL, "child subreaper", true, check_kernel_subreaper },
    { KERNEL, "proc connector", false, check_kernel_connector },
    { KERNEL, "taskstats", false, check_kernel_taskstats },
    { KERNEL, "delay accounting", false, check_kernel_delays },
    { KERNEL, "schedstat", false, check_kernel_schedstat },
    { KERNEL, "I/O accounting", false, check_kernel_io },
    { KERNEL, "visible /proc", false, check_kernel_hidepid },
    { KERNEL, "child lists", false, check_kernel_children },
    { KERNEL, "CPU clocks", false, check_kernel_clock },
    { KERNEL, "open files", false, check_kernel_descriptors },
    { EVENTS, "software", false, check_perf_software },
    { EVENTS, "kernel events", false, check_perf_kernel },
    { EVENTS, "hardware", false, check_perf_hardware },
    { EVENTS, "per job", false, check_perf_jobs },
    { EVENTS, "libpfm4", false, check_perf_libpfm },
    { SYSCALLS, "eBPF", false, check_syscalls_kernel },
    { SYSCALLS, "libc", false, check_syscalls_libc },
    { SYSCALLS, "default method", false, check_syscalls_in_use },
    { SYSCALLS, "ptrace", false, check_ptrace },
    { PROGRAMS, "metrics segments", false, check_appmetrics_segments },
    { PROGRAMS, "tau clients", false, check_appmetrics_tau },
};

static struct finding *next_finding(struct doctor *doctor, const char *group, const char *name, bool essential)
{
    struct finding *finding = &doctor->findings[doctor->count];
    if (doctor->count < DOCTOR_FINDINGS_MAX - 1)
        doctor->count++;
    *finding = (struct finding){ .group = group, .name = name, .essential = essential };
    return finding;
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

static void report_missing(struct finding *finding, const struct sampler *sampler, enum err err)
{
    if (err == ABSENT)
        finding_missing(finding, text_or(sampler->absent_fix, ""), "%s",
                        text_or(sampler->absent_reason, "This node does not have it"));
    else if (err == DENIED)
        finding_missing(finding, text_or(sampler->denied_fix, "Run as root"), "Permission denied");
    else
        finding_missing(finding, "", "Cannot read it: %s", err_text(err));
}

static void try_sampler(struct doctor *doctor, const struct sampler *sampler, const struct doctor_target *target)
{
    struct sampler_context context = { .root = target->root, .pid = getpid() };
    struct finding *finding = next_finding(doctor, SAMPLES, sampler->name, false);
    enum err err = samplers_try(sampler, &context);
    if (err && err != AGAIN && err != GONE) /* those mean that there is nothing to read at the moment */
        report_missing(finding, sampler, err);
    else if (sampler->root_only && geteuid() != 0)
        finding_available(finding, "%s; %s only as root", sampler->about, sampler->root_only);
    else
        finding_available(finding, "%s", sampler->about);
}

static void add_trial(struct doctor *doctor)
{
    struct finding trial[TRIAL_RUN_FINDINGS];
    trial_run(trial);
    for (int i = 0; i < TRIAL_RUN_FINDINGS; i++)
        *next_finding(doctor, trial[i].group, trial[i].name, trial[i].essential) = trial[i];
}

void doctor_check(struct doctor *doctor, const struct doctor_target *target, bool trial)
{
    doctor->count = 0;
    host_read(target->root, &doctor->host);
    limits_read(target->root, &doctor->limits);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i].check(target, next_finding(doctor, checks[i].group, checks[i].name, checks[i].essential));
    for (const struct sampler *const *sampler = sampler_all; *sampler; sampler++)
        try_sampler(doctor, *sampler, target);
    if (trial)
        add_trial(doctor);
}

bool doctor_is_well(const struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++)
        if (doctor->findings[i].essential && !doctor->findings[i].there)
            return false;
    return true;
}
