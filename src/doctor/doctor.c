/* The list of what doctor looks at. To add a check: one line here, one function that fills in its finding. */
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

#define PARTS "Sonde itself"
#define KERNEL "What the kernel tells"
#define EVENTS "Performance events (sonde run -e, the agent's perf)"
#define CALLS "System calls (sonde run -s, sonde attach)"
#define PROGRAMS "Programs that speak"
#define SAMPLES "Samples"

static const struct check checks[] = {
    { PARTS, "probe library", true, doctor_parts_probe },
    { PARTS, "spool", true, doctor_parts_spool },
    { PARTS, "store", true, doctor_parts_store },
    { PARTS, "left-over runs", false, doctor_parts_left_over },
    { PARTS, "agent", false, doctor_parts_agent },
    { KERNEL, "child subreaper", true, doctor_kernel_subreaper },
    { KERNEL, "proc connector", false, doctor_kernel_connector },
    { KERNEL, "taskstats", false, doctor_kernel_taskstats },
    { KERNEL, "delay accounting", false, doctor_kernel_delays },
    { KERNEL, "schedstat", false, doctor_kernel_schedstat },
    { KERNEL, "I/O accounting", false, doctor_kernel_io },
    { KERNEL, "visible /proc", false, doctor_kernel_hidepid },
    { KERNEL, "lists of children", false, doctor_kernel_children },
    { KERNEL, "CPU clocks", false, doctor_kernel_clock },
    { KERNEL, "open files", false, doctor_kernel_descriptors },
    { EVENTS, "software", false, doctor_perf_software },
    { EVENTS, "in the kernel", false, doctor_perf_kernel },
    { EVENTS, "hardware", false, doctor_perf_hardware },
    { EVENTS, "of jobs", false, doctor_perf_jobs },
    { EVENTS, "libpfm4", false, doctor_perf_libpfm },
    { CALLS, "in the kernel", false, doctor_calls_kernel },
    { CALLS, "in libc", false, doctor_calls_libc },
    { CALLS, "in use", false, doctor_calls_in_use },
    { CALLS, "ptrace", false, doctor_ptrace },
    { PROGRAMS, "boards", false, doctor_programs_boards },
    { PROGRAMS, "clients of tau", false, doctor_programs_tau },
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

static void tell_missing(struct finding *finding, const struct sampler *sampler, enum err err)
{
    if (err == ABSENT)
        finding_missing(finding, text_or(sampler->absent_fix, ""), "%s",
                        text_or(sampler->absent_reason, "This machine does not have it"));
    else if (err == DENIED)
        finding_missing(finding, text_or(sampler->denied_fix, "Run as root"), "This user may not read it");
    else
        finding_missing(finding, "", "It cannot be read: %s", err_text(err));
}

static void try_sampler(struct doctor *doctor, const struct sampler *sampler, const struct place *place)
{
    struct sampler_context context = { .root = place->root, .pid = getpid() };
    struct finding *finding = next_finding(doctor, SAMPLES, sampler->name, false);
    enum err err = samplers_try(sampler, &context);
    if (err && err != AGAIN && err != GONE) /* those: nothing to read just now */
        tell_missing(finding, sampler, err);
    else if (sampler->root_only && geteuid() != 0)
        finding_there(finding, "%s; only root sees %s", sampler->about, sampler->root_only);
    else
        finding_there(finding, "%s", sampler->about);
}

static void add_trial(struct doctor *doctor)
{
    struct finding trial[DOCTOR_TRIAL_FINDINGS];
    doctor_trial(trial);
    for (int i = 0; i < DOCTOR_TRIAL_FINDINGS; i++)
        *next_finding(doctor, trial[i].group, trial[i].name, trial[i].essential) = trial[i];
}

void doctor_examine(struct doctor *doctor, const struct place *place, bool trial)
{
    doctor->count = 0;
    host_read(place->root, &doctor->host);
    limits_read(place->root, &doctor->limits);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i].look(place, next_finding(doctor, checks[i].group, checks[i].name, checks[i].essential));
    for (const struct sampler *const *sampler = sampler_all; *sampler; sampler++)
        try_sampler(doctor, *sampler, place);
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
