/* Lines of JSON: the first one identifies the boot, the others are requests as of POST /job (job_post.h). */
#include "agent/saved_jobs.h"

#include "agent/job_post.h"
#include "api/schema.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/state_file.h"
#include "net/json.h"
#include "proc/pid.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".jobs"
#define ANSWER_MAX 4096

static enum err jobs_file_path(char path[FILE_PATH_MAX], const char *socket)
{
    return (size_t)snprintf(path, FILE_PATH_MAX, "%s" SUFFIX, socket) < FILE_PATH_MAX ? OK : USAGE;
}

static void add_boot(struct buf *file)
{
    char boot[STATE_FILE_BOOT_ID_MAX];
    struct json json;
    state_file_boot_id(boot);
    json_init_line(&json, file);
    json_begin_object(&json);
    json_field_text(&json, "boot", boot);
    json_end_object(&json);
    json_end(&json);
}

static void add_number(struct json *json, const char *name, uint64_t number)
{
    if (number)
        json_field_u64(json, name, number);
}

static void add_string(struct json *json, const char *name, const char *text)
{
    if (*text)
        json_field_text(json, name, text);
}

static void add_job(struct buf *file, const char *root, const struct job *job, bool is_declared)
{
    static const char *const modes[] = {
        [JOB_SYSCALLS_NONE] = "", [JOB_SYSCALLS_COUNT] = "count", [JOB_SYSCALLS_TIME] = "time",
    };
    uint64_t pid_start;
    struct json json;
    json_init_line(&json, file);
    json_begin_object(&json);
    json_key(&json, API_BEGIN);
    json_begin_object(&json);
    json_field_text(&json, API_ID, job->id);
    if (is_declared)
        json_field_u64(&json, API_DECLARED, 1);
    add_string(&json, API_OTHER_ID, job->other_id);
    json_field_text(&json, API_SOURCE, job->source);
    add_string(&json, API_USER, job->user);
    if (job->uid != UINT32_MAX)
        json_field_u64(&json, API_UID, job->uid);
    add_number(&json, API_START_NS, job->start_ns);
    add_number(&json, API_END_NS, job->end_ns);
    add_number(&json, API_CORES_MILLI, job->cores_milli);
    add_number(&json, API_MEMORY_BYTES, job->memory_bytes);
    add_string(&json, API_CGROUP, job->cgroup);
    add_string(&json, API_SYSCALLS, modes[job->syscalls]);
    add_number(&json, API_PID, job->pid);
    if (job->pid && !pid_start_ns(root, (pid_t)job->pid, &pid_start))
        json_field_u64(&json, API_PID_START_NS, pid_start);
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
}

enum err saved_jobs_write(const char *socket, const char *root, const struct jobs *jobs)
{
    char path[FILE_PATH_MAX];
    struct buf file;
    const struct job *job;
    size_t count = 0;
    bool is_declared;
    enum err err = jobs_file_path(path, socket);
    if (err)
        return err;
    buf_init(&file, STATE_FILE_MAX);
    add_boot(&file);
    for (size_t at = 0; (job = jobs_next_saved(jobs, &at, &is_declared)); count++)
        add_job(&file, root, job, is_declared);
    if (count)
        err = state_file_write(path, &file);
    else
        unlink(path);
    buf_clear(&file);
    return err;
}

/* The next line, without its newline. False: there is none. */
static bool take_line(struct bytes *rest, struct bytes *line)
{
    const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    if (!end)
        return false;
    *line = (struct bytes){ rest->data, (size_t)(end - rest->data) };
    rest->data += line->size + 1;
    rest->size -= line->size + 1;
    return true;
}

static bool is_of_this_boot(struct bytes line)
{
    struct buf ours;
    buf_init(&ours, ANSWER_MAX);
    add_boot(&ours);
    bool is_same = ours.size == line.size + 1 && memcmp(ours.data, line.data, line.size) == 0;
    buf_clear(&ours);
    return is_same;
}

/* The jobs were known to run until then. */
static uint64_t written_ns(const char *path)
{
    struct stat st;
    return stat(path, &st) ? clock_realtime_ns() : (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
}

void saved_jobs_read(const char *socket, struct jobs *jobs)
{
    char path[FILE_PATH_MAX];
    struct buf file, answer;
    struct bytes line;
    buf_init(&file, STATE_FILE_MAX + 1);
    buf_init(&answer, ANSWER_MAX);
    if (!jobs_file_path(path, socket) && !state_file_read(path, &file)) {
        struct bytes rest = { file.data, file.size };
        struct job_requester saved = { .is_privileged = true, .saved_ns = written_ns(path) };
        saved.has_rebooted = !take_line(&rest, &line) || !is_of_this_boot(line);
        while (take_line(&rest, &line)) {
            buf_reset(&answer);
            job_post(jobs, &saved, line, &answer);
        }
    }
    buf_clear(&file);
    buf_clear(&answer);
}
