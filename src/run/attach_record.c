/* Records of a process that was there before us. */
#include "run/attach_record.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/pid_job.h"
#include "run/run_record.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct bytes user_of(uint32_t uid, char *room, size_t size)
{
    const struct passwd *entry = getpwuid(uid);
    if (entry)
        snprintf(room, size, "%s", entry->pw_name);
    else
        snprintf(room, size, "%u", (unsigned)uid);
    return bytes_of(room);
}

static void write_run(struct attach_record *record, const struct attach_settings *settings, const struct attach_target *target,
                      const struct run_record_facts *facts)
{
    struct unseen unseen = { 0 };
    char user[256];
    unseen_read(&record->reader, (uint32_t)target->pid, target->uid, &unseen);
    if (!unseen.args.size) /* it has overwritten them */
        unseen.args = (struct bytes){ target->name, strlen(target->name) + 1 };
    writer_add_run(&record->writer, &(struct run_record){
        .run_id = bytes_of(facts->run_id), .job_id = bytes_of(facts->job.id),
        .name = bytes_of(settings->name ? settings->name : target->name), .user = user_of(target->uid, user, sizeof user),
        .uid = target->uid, .command = unseen.args, .cwd = unseen.cwd, .tags = bytes_of(settings->tags),
        .host = bytes_of(facts->host.name), .kernel = bytes_of(facts->host.kernel), .cpu_model = bytes_of(facts->host.cpu_model),
        .cores = facts->host.cores, .memory_bytes = facts->host.memory_bytes,
        .cores_allowed_milli = facts->limits.cores_milli, .memory_limit_bytes = facts->limits.memory_bytes,
        .period_ns = settings->period_ns, .time_ns = facts->time_ns, .pid = unseen.ppid,
        .boot_ns = clock_realtime_ns() - clock_ns(CLOCK_BOOTTIME),
    });
}

/* The job that the process is in, not who attaches to it. */
static void find_job(const struct attach_settings *settings, const struct attach_target *target, struct run_record_facts *facts)
{
    run_record_facts(facts, &(struct run_settings){ .job_id = settings->job_id });
    if (settings->job_id)
        return;
    if (pid_job(NULL, target->pid, false, &facts->job) != OK)
        id_make(facts->time_ns, (uint32_t)getpid(), facts->job.id);
}

void attach_record_begin(struct attach_record *record, const struct attach_settings *settings,
                         const struct attach_target *target)
{
    struct run_record_facts facts;
    char path[PATH_MAX];
    *record = (struct attach_record){ .writer.fd = WRITER_NONE };
    find_job(settings, target, &facts);
    enum err err = spool_dir_make(&record->spool, settings->out_dir, facts.run_id, path);
    if (!err)
        err = unseen_open(&record->reader, "");
    if (err) {
        log_warn("nothing is filed: cannot make the spool at %s: %s. To file it, %s.", path, spool_dir_reason(err),
                 spool_dir_remedy(err));
        return;
    }
    writer_init_take(&record->writer, record->spool.fd);
    sample_writer_init(&record->samples, &record->writer);
    record->lives = (struct attach_lives){ .reader = &record->reader, .writer = &record->writer };
    record->tracer_lives = attach_lives_tracer(&record->lives);
    write_run(record, settings, target, &facts);
    writer_flush(&record->writer);
}

static void close_all(struct attach_record *record)
{
    writer_close(&record->writer);
    sample_writer_clear(&record->samples);
    attach_lives_clear(&record->lives);
    unseen_close(&record->reader);
}

void attach_record_drop(struct attach_record *record)
{
    if (record->writer.fd == WRITER_NONE)
        return;
    close_all(record);
    record->spool.fd = -1;
    spool_dir_remove(&record->spool);
}

const struct tracer_lives *attach_record_lives(const struct attach_record *record)
{
    return record->writer.fd == WRITER_NONE ? NULL : &record->tracer_lives;
}

struct attach_lives *attach_record_listener(struct attach_record *record)
{
    return record->writer.fd == WRITER_NONE ? NULL : &record->lives;
}

void attach_record_held(struct attach_record *record, enum syscall_way way, const struct pidlist *pids)
{
    struct batch batch;
    batch_init(&batch);
    program_sets_add_way(&batch, clock_realtime_ns(), way);
    attach_record_tick(record, &batch, pids);
    batch_clear(&batch);
}

void attach_record_tick(struct attach_record *record, const struct batch *batch, const struct pidlist *pids)
{
    if (record->writer.fd == WRITER_NONE)
        return;
    sample_writer_add(&record->samples, batch);
    writer_flush(&record->writer);
    if (pids)
        attach_lives_tick(&record->lives, pids);
}

bool attach_record_end(struct attach_record *record, const int *status, char *spool, size_t size)
{
    if (record->writer.fd == WRITER_NONE)
        return false;
    attach_lives_over(&record->lives);
    writer_add_run_end(&record->writer, &(struct run_end_record){
        .time_ns = clock_realtime_ns(), .status_known = status != NULL, .status = status ? (uint64_t)*status : 0,
        .records_lost = record->writer.lost });
    close_all(record);
    snprintf(spool, size, "%s", record->spool.spool);
    return true;
}
