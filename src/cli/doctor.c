/* sonde doctor: which sources of numbers this machine has, and a short run to prove that Sonde works. */
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
    struct place place = { .root = call->globals->root ? call->globals->root : "", .db = call->globals->db };
    struct doctor *doctor = malloc(sizeof *doctor); /* too large for a stack frame */
    if (!doctor)
        return command_fail(call, "out of memory");
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    doctor_examine(doctor, &place, !settings->no_trial);
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
      .help = "Only look; do not run anything" },
    { .name = "json", .type = OPTION_FLAG, .offset = offsetof(struct doctor_settings, json),
      .help = "Print one JSON object" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde doctor", "what is there, what is not, and what to do about it" },
    { "sonde doctor --json | jq -r '.findings[] | select(.there | not) | .remedy'", "the remedies alone" },
    { 0 },
};

static const struct command_fact exits[] = {
    { "0", "all that is essential works; other sources may be missing" },
    { "1", "something essential does not work" },
    { "2", "it was used wrongly" },
    { 0 },
};

const struct command command_doctor = {
    .name = "doctor",
    .about = "find out why a number is missing",
    .usage = "[OPTIONS]",
    .description =
        "Tries every source of numbers on this machine: whether it is there, why not, what is not known without it, and "
        "what to do. Then watches a small program from end to end, with a store of its own that is thrown away: the probe "
        "loads, the job is filed, it is read back.\n\n"
        "What this user may not see depends on the user: run it as the one who runs the jobs.",
    .options = options,
    .settings_size = sizeof(struct doctor_settings),
    .shares = COMMAND_DB | COMMAND_ROOT,
    .examples = examples,
    .exits = exits,
    .replaces_exits = true,
    .see_also = "run submit agent",
    .run = doctor_run,
};
