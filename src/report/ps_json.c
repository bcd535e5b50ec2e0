/* Keys are present only if their value is known. */
#include "report/ps_json.h"

#include "report/usage_mark.h"

#include <string.h>

const char *ps_json_state(enum process_state state)
{
    switch (state) {
    case PROCESS_ENDED: return "ended";
    case PROCESS_EXECED: return "execed";
    case PROCESS_RUNNING: return "running";
    case PROCESS_LOST: return "lost";
    }
    return "unknown";
}

/* key: an object with the known counters by their names. */
static void add_counters(struct json *json, const char *key, const struct counters *counters)
{
    json_key(json, key);
    json_begin_object(json);
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (counters_has(counters, (enum counter)i))
            json_field_u64(json, counters_metrics[i].name, counters->value[i]);
    json_end_object(json);
}

static void add_times(struct json *json, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns)
        json_field_u64(json, "start_ns", start_ns);
    if (end_ns)
        json_field_u64(json, "end_ns", end_ns);
    if (start_ns && end_ns >= start_ns)
        json_field_f64(json, "duration_s", (double)(end_ns - start_ns) / 1e9);
}

static void add_thread(struct json *json, const struct thread *thread)
{
    json_begin_object(json);
    json_field_u64(json, "tid", thread->tid);
    json_field_bytes(json, "name", (struct bytes){ thread->name, strnlen(thread->name, sizeof thread->name) });
    add_times(json, thread->start_ns, thread->end_ns);
    add_counters(json, "counters", &thread->counters);
    json_end_object(json);
}

static void add_identity(struct json *json, uint32_t number, const struct process *p)
{
    json_field_u64(json, "number", number);
    if (p->parent != PROCESS_NO_PARENT)
        json_field_u64(json, "parent", p->parent);
    json_field_u64(json, "last", p->last);
    json_field_u64(json, "pid", p->pid);
    json_field_u64(json, "ppid", p->ppid);
    json_field_u64(json, "image", p->image);
    if (p->pgid_known)
        json_field_u64(json, "pgid", p->pgid);
    if (p->sid_known)
        json_field_u64(json, "sid", p->sid);
    if (p->uid_known)
        json_field_u64(json, "uid", p->uid);
}

static void add_known_text(struct json *json, const char *key, struct bytes text)
{
    if (text.size)
        json_field_bytes(json, key, text);
}

static bool cpu_known(const struct counters *c)
{
    return counters_has(c, COUNTER_usertime) || counters_has(c, COUNTER_systemtime);
}

static void add_host_and_user(struct json *json, const struct store_run *run, const struct process *p)
{
    const char *user = store_run_user(run, p);
    if (run)
        add_known_text(json, "host", bytes_of(run->host));
    if (user)
        add_known_text(json, "user", bytes_of(user));
}

void ps_json_process(struct json *json, uint32_t number, const struct process *p, const struct store_run *run,
                     const struct thread *threads, size_t thread_count)
{
    json_begin_object(json);
    add_identity(json, number, p);
    add_host_and_user(json, run, p);
    add_known_text(json, "name", p->name);
    add_known_text(json, "path", p->path);
    if (p->args.size)
        json_field_strings(json, "args", p->args);
    add_known_text(json, "cwd", p->cwd);
    add_known_text(json, "tags", p->tags);
    add_times(json, p->start_ns, p->end_ns);
    json_field_text(json, "state", ps_json_state(p->state));
    if (p->status_known) {
        json_field_u64(json, "exit_code", p->exit_code);
        json_field_u64(json, "exit_signal", p->exit_signal);
    }
    if (cpu_known(&p->counters))
        json_field_f64(json, "cpu_s", (double)counters_cpu_us(&p->counters) / 1e6);
    usage_mark_json(json, p->sources);
    json_field_f64(json, "inclusive_cpu_s", (double)p->inclusive_cpu_us / 1e6);
    json_field_u64(json, "thread_count", p->thread_count);
    add_counters(json, "counters", &p->counters);
    if (threads && thread_count) {
        json_key(json, "threads");
        json_begin_array(json);
        for (size_t i = 0; i < thread_count; i++)
            add_thread(json, &threads[i]);
        json_end_array(json);
    }
    json_end_object(json);
}
