/* Writes the records of a process that was running before us. */
#include "run/attach_record.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/pid_job.h"
#include "run/run_record.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct bytes user_of(uint32_t uid, char *buffer, size_t size)
{
    const struct passwd *entry = getpwuid(uid);
    if (entry)
        snprintf(buffer, size, "%s", entry->pw_name);
    else
        snprintf(buffer, size, "%u", (unsigned)uid);
    return bytes_of(buffer);
}

static void write_run(struct attach_record *record, const struct attach_settings *settings,
                      const struct attach_target *target,
                      const struct run_record_facts *facts)
{
    struct proc_snapshot snapshot = { 0 };
    char user[256];
    proc_snapshot_read(&record->reader, (uint32_t)target->pid, target->uid, &snapshot);
    if (!snapshot.args.size) /* the process has overwritten them */
        snapshot.args = (struct bytes){ target->name, strlen(target->name) + 1 };
    spool_writer_add_run(&record->writer, &(struct run_record){
        .run_id = bytes_of(facts->run_id), .job_id = bytes_of(facts->job.id),
        .name = bytes_of(settings->name ? settings->name : target->name), .user = user_of(target->uid, user, sizeof user),
        .uid = target->uid, .command = snapshot.args, .cwd = snapshot.cwd, .tags = bytes_of(settings->tags),
        .host = bytes_of(facts->host.name), .kernel = bytes_of(facts->host.kernel), .cpu_model = bytes_of(facts->host.cpu_model),
        .cores = facts->host.cores, .memory_bytes = facts->host.memory_bytes,
        .cores_allowed_milli = facts->limits.cores_milli, .memory_limit_bytes = facts->limits.memory_bytes,
        .period_ns = settings->period_ns, .time_ns = facts->time_ns, .pid = snapshot.ppid,
        .boot_ns = clock_realtime_ns() - clock_ns(CLOCK_BOOTTIME),
    });
}

/* The job of the target process, not of the user who attaches. */
static void find_job(const struct attach_settings *settings, const struct attach_target *target,
                     struct run_record_facts *facts)
{
    run_record_facts(facts, &(struct run_settings){ .job_id = settings->job_id });
    if (settings->job_id)
        return;
    if (pid_job(NULL, target->pid, false, &facts->job) != OK)
        job_id_generate(facts->time_ns, (uint32_t)getpid(), facts->job.id);
}

void attach_record_begin(struct attach_record *record, const struct attach_settings *settings,
                         const struct attach_target *target)
{
    struct run_record_facts facts;
    char path[PATH_MAX];
    *record = (struct attach_record){ .writer.fd = SPOOL_WRITER_NONE };
    if (settings->is_not_recorded)
        return;
    find_job(settings, target, &facts);
    enum err err = spool_dir_create(&record->spool, settings->out_dir, facts.run_id, path);
    if (!err)
        err = proc_snapshot_open(&record->reader, "");
    if (err) {
        log_warn("not saved: cannot create the spool in %s: %s. To save it, %s.", path, spool_dir_reason(err),
                 spool_dir_fix(err));
        return;
    }
    spool_writer_init_take(&record->writer, record->spool.fd);
    sample_writer_init(&record->samples, &record->writer);
    record->processes = (struct attach_processes){ .reader = &record->reader, .writer = &record->writer };
    record->tracer_listener = attach_processes_tracer(&record->processes);
    write_run(record, settings, target, &facts);
    spool_writer_flush(&record->writer);
}

static void close_all(struct attach_record *record)
{
    spool_writer_close(&record->writer);
    sample_writer_clear(&record->samples);
    attach_processes_clear(&record->processes);
    proc_snapshot_close(&record->reader);
}

void attach_record_drop(struct attach_record *record)
{
    if (record->writer.fd == SPOOL_WRITER_NONE)
        return;
    close_all(record);
    record->spool.fd = -1;
    spool_dir_remove(&record->spool);
}

const struct tracer_listener *attach_record_tracer_listener(const struct attach_record *record)
{
    return record->writer.fd == SPOOL_WRITER_NONE ? NULL : &record->tracer_listener;
}

struct attach_processes *attach_record_processes(struct attach_record *record)
{
    return record->writer.fd == SPOOL_WRITER_NONE ? NULL : &record->processes;
}

void attach_record_started(struct attach_record *record, enum syscall_way way, const struct pidlist *pids)
{
    struct batch batch;
    batch_init(&batch);
    program_sets_add_way(&batch, clock_realtime_ns(), way);
    attach_record_tick(record, &batch, pids);
    batch_clear(&batch);
}

void attach_record_tick(struct attach_record *record, const struct batch *batch, const struct pidlist *pids)
{
    if (record->writer.fd == SPOOL_WRITER_NONE)
        return;
    sample_writer_add(&record->samples, batch);
    spool_writer_flush(&record->writer);
    if (pids)
        attach_processes_tick(&record->processes, pids);
}

bool attach_record_end(struct attach_record *record, const int *status, char *spool, size_t size)
{
    if (record->writer.fd == SPOOL_WRITER_NONE)
        return false;
    attach_processes_finish(&record->processes);
    spool_writer_add_run_end(&record->writer, &(struct run_end_record){
        .time_ns = clock_realtime_ns(), .status_known = status != NULL, .status = status ? (uint64_t)*status : 0,
        .records_lost = record->writer.lost });
    close_all(record);
    snprintf(spool, size, "%s", record->spool.spool);
    return true;
}
