/* sonde doctor: which data sources this node has, and a short trial run that shows that Sonde works. */
#include "cli/command.h"

#include "doctor/doctor.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define OUTPUT_MAX (1u << 20)

struct doctor_settings {
    bool json, no_trial;
};

static int doctor_run(const struct command_call *call)
{
    const struct doctor_settings *settings = call->settings;
    struct doctor_target target = { .root = call->globals->root ? call->globals->root : "", .db = call->globals->db };
    struct doctor *doctor = malloc(sizeof *doctor); /* too large for a stack frame */
    if (!doctor)
        return command_fail(call, "out of memory");
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    doctor_check(doctor, &target, !settings->no_trial);
    if (settings->json)
        doctor_json(doctor, &out);
    else
        doctor_print(doctor, &terminal, &out);
    int status = command_print(call, &out);
    if (status == EXIT_GOOD && !doctor_is_well(doctor))
        status = EXIT_FAILED;
    buf_clear(&out);
    free(doctor);
    return status;
}

static const struct option options[] = {
    { .name = "no-trial", .type = OPTION_FLAG, .offset = offsetof(struct doctor_settings, no_trial),
      .help = "Only check; do not run anything" },
    { .name = "json", .type = OPTION_FLAG, .offset = offsetof(struct doctor_settings, json),
      .help = "Print one JSON object" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde doctor", "what is available, what is not, and how to fix it" },
    { "sonde doctor --json | jq -r '.findings[] | select(.there | not) | .remedy'", "the fixes alone" },
    { 0 },
};

static const struct command_fact exits[] = {
    { "0", "Everything essential works; other sources may be unavailable." },
    { "1", "Something essential does not work." },
    { "2", "Usage error." },
    { 0 },
};

const struct command command_doctor = {
    .name = "doctor",
    .about = "find out why data is missing",
    .usage = "[OPTIONS]",
    .description =
        "Checks every data source on this node: whether it is available, why not, what is missing without it, and how to fix "
        "it. Then records a small program from end to end, with a temporary job database: the probe loads, the job is saved, "
        "it is read back.\n\n"
        "Permissions depend on the user: run it as the user who runs the jobs.",
    .options = options,
    .settings_size = sizeof(struct doctor_settings),
    .shares = COMMAND_DB | COMMAND_ROOT,
    .examples = examples,
    .exits = exits,
    .replaces_exits = true,
    .see_also = "run submit agent",
    .run = doctor_run,
};
