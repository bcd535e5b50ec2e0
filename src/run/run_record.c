/* Collects and writes the facts about a run. */
#include "run/run_record.h"

#include "base/clock.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARGS_MAX (8 << 20)

static void find_user(char *user, size_t size)
{
    const struct passwd *entry = getpwuid(getuid());
    if (entry)
        snprintf(user, size, "%s", entry->pw_name);
    else
        snprintf(user, size, "%u", (unsigned)getuid());
}

void run_record_facts(struct run_record_facts *facts, const struct run_settings *settings)
{
    *facts = (struct run_record_facts){ .time_ns = clock_realtime_ns() };
    host_read(settings->root, &facts->host);
    if (!facts->host.name[0] && gethostname(facts->host.name, sizeof facts->host.name - 1) != 0)
        snprintf(facts->host.name, sizeof facts->host.name, "localhost");
    limits_read(settings->root, &facts->limits);
    job_id_from_environment(&facts->job);
    if (settings->job_id)
        snprintf(facts->job.id, sizeof facts->job.id, "%s", settings->job_id);
    else if (!facts->job.id[0])
        job_id_generate(facts->time_ns, (uint32_t)getpid(), facts->job.id);
    spool_dir_run_id(facts->host.name, facts->run_id);
    find_user(facts->user, sizeof facts->user);
}

static struct bytes last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return bytes_of(slash && slash[1] ? slash + 1 : path);
}

/* The user's choice, else the batch system's, else the command's. */
static struct bytes name_of(const struct run_settings *settings, const struct run_record_facts *facts)
{
    if (settings->name)
        return bytes_of(settings->name);
    return facts->job.name[0] ? bytes_of(facts->job.name) : last_part(settings->command[0]);
}

void run_record_write(struct spool_writer *writer, const struct run_settings *settings,
                      const struct run_record_facts *facts,
                      const struct perf_event_spec *specs, size_t spec_count)
{
    struct buf command, events;
    char cwd[PATH_MAX] = "";
    buf_init(&command, ARGS_MAX);
    buf_init(&events, ARGS_MAX);
    for (char *const *arg = settings->command; *arg; arg++)
        buf_add(&command, *arg, strlen(*arg) + 1);
    for (size_t i = 0; i < spec_count; i++)
        buf_add(&events, specs[i].name, strlen(specs[i].name) + 1);
    if (!getcwd(cwd, sizeof cwd))
        cwd[0] = '\0';
    spool_writer_add_run(writer, &(struct run_record){
        .run_id = bytes_of(facts->run_id), .job_id = bytes_of(facts->job.id), .name = name_of(settings, facts),
        .user = bytes_of(facts->user), .uid = getuid(), .command = { command.data, command.size }, .cwd = bytes_of(cwd),
        .tags = bytes_of(settings->tags), .host = bytes_of(facts->host.name), .kernel = bytes_of(facts->host.kernel),
        .cpu_model = bytes_of(facts->host.cpu_model), .cores = facts->host.cores,
        .memory_bytes = facts->host.memory_bytes, .cores_allowed_milli = facts->limits.cores_milli,
        .memory_limit_bytes = facts->limits.memory_bytes, .period_ns = settings->period_ns, .time_ns = facts->time_ns,
        .events = { events.data, events.size }, .pid = (uint64_t)getpid(),
        .boot_ns = clock_realtime_ns() - clock_ns(CLOCK_BOOTTIME),
    });
    buf_clear(&command);
    buf_clear(&events);
}
