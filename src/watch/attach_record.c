/* Records of a process that was there before us. */
#include "watch/attach_record.h"

#include "base/clock.h"
#include "base/log.h"
#include "watch/run_record.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define NAME_ROOM 64

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

void attach_record_begin(struct attach_record *record, const struct attach_settings *settings,
                         const struct attach_target *target, enum syscall_way way)
{
    struct run_record_facts facts;
    struct batch batch;
    char path[PATH_MAX];
    *record = (struct attach_record){ .writer.fd = WRITER_NONE, .pid = target->pid };
    run_record_facts(&facts, &(struct run_settings){ .job_id = settings->job_id });
    enum err err = spool_dir_make(&record->spool, settings->out_dir, facts.run_id, path);
    if (!err)
        err = unseen_open(&record->reader, "");
    if (err) {
        log_warn("nothing is filed: cannot make the spool at %s: %s. Give a folder with -o DIR.", path, err_text(err));
        return;
    }
    writer_init_take(&record->writer, record->spool.fd);
    writer_init_take(&record->last, WRITER_GATHER);
    sample_writer_init(&record->samples, &record->writer);
    write_run(record, settings, target, &facts);
    batch_init(&batch);
    program_sets_add_way(&batch, way);
    sample_writer_add(&record->samples, &batch);
    batch_clear(&batch);
    writer_flush(&record->writer);
    unseen_counters(&record->reader, (uint32_t)target->pid, false, &record->before);
}

/* What it has used since we came. */
static void look_at_process(struct attach_record *record)
{
    struct unseen unseen;
    struct alive_record alive;
    char name[NAME_ROOM];
    if (unseen_read(&record->reader, (uint32_t)record->pid, UINT32_MAX, &unseen) != OK || unseen.zombie)
        return;
    size_t size = unseen.name.size < sizeof name ? unseen.name.size : sizeof name;
    if (size)
        memcpy(name, unseen.name.data, size); /* the counters are read through the same buffer */
    alive = (struct alive_record){
        .pid = (uint64_t)record->pid, .ppid = unseen.ppid, .pgid = unseen.pgid, .sid = unseen.sid, .uid = unseen.uid,
        .start_ticks = unseen.start_ticks, .time_ns = clock_realtime_ns(), .path = unseen.path, .args = unseen.args,
        .cwd = unseen.cwd, .name = { name, size },
    };
    unseen_counters(&record->reader, (uint32_t)record->pid, false, &alive.self);
    counters_subtract(&alive.self, &record->before);
    writer_forget(&record->last);
    writer_add_alive(&record->last, &alive);
}

void attach_record_tick(struct attach_record *record, const struct batch *batch)
{
    if (record->writer.fd == WRITER_NONE)
        return;
    sample_writer_add(&record->samples, batch);
    writer_flush(&record->writer);
    look_at_process(record);
}

bool attach_record_end(struct attach_record *record, char *spool, size_t size)
{
    if (record->writer.fd == WRITER_NONE)
        return false;
    writer_move(&record->writer, &record->last);
    writer_add_run_end(&record->writer, &(struct run_end_record){ .time_ns = clock_realtime_ns(),
                                                                  .records_lost = record->writer.lost });
    writer_close(&record->writer);
    writer_close(&record->last);
    sample_writer_clear(&record->samples);
    unseen_close(&record->reader);
    snprintf(spool, size, "%s", record->spool.spool);
    return true;
}
