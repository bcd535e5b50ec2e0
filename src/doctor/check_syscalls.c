/* Tries each way to count system calls: loads and unloads eBPF, asks the agent for the state of its sensor. */
#include "doctor/check_syscalls.h"

#include "api/agent_client.h"
#include "api/schema.h"
#include "base/install_paths.h"
#include "net/json_read.h"
#include "spool/probe_env.h"
#include "syscalls/ebpf.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MAX (1u << 20)
#define REASON_MAX 400
#define PATIENCE_NS 2000000000u
#define SENSOR "syscalls"

/* Not for a captured tree, since the kernel is that of this node. */
static enum err try_kernel(const struct doctor_target *target, char reason[REASON_MAX])
{
    const unsigned all = EBPF_MAY_TIME | EBPF_MAY_WATCH_CGROUPS;
    struct ebpf *syscalls;
    reason[0] = '\0';
    enum err err = target->root && *target->root ? ABSENT : ebpf_open(&syscalls, all, reason, REASON_MAX);
    if (!err)
        ebpf_close(&syscalls);
    else if (!reason[0])
        snprintf(reason, REASON_MAX, "%s", err_text(err));
    return err;
}

void check_syscalls_kernel(const struct doctor_target *target, struct finding *finding)
{
    char reason[REASON_MAX];
    enum err err = try_kernel(target, reason);
    if (!err)
        finding_available(finding, "every call of every thread, with bytes by file type; loaded on demand");
    else
        finding_missing(finding, err == DENIED ? "Run as root, or run an agent as root on this node" : "", "%s", reason);
}

void check_syscalls_libc(const struct doctor_target *target, struct finding *finding)
{
    char path[PATH_MAX];
    (void)target;
    if (install_paths_find(PROBE_LIBRARY_CALLS, path, sizeof path) == OK)
        finding_available(finding,
                          "libsonde-calls.so: calls through libc; for static and Go programs use sonde run --ptrace");
    else
        finding_missing(finding, "Install libsonde-calls.so next to libsonde-process.so",
                        "libsonde-calls.so is not installed");
}

/* In one element of the list of sensors: is it the sensor for system calls, and is it active? */
static bool reads_calls(struct json_read *read)
{
    struct buf key, text;
    bool is_ours = false, reads = false;
    buf_init(&key, 256);
    buf_init(&text, 4096);
    json_read_object(read);
    while (json_read_key(read, &key))
        if (!strcmp(buf_text(&key), API_NAME) && json_read_text(read, &text))
            is_ours = !strcmp(buf_text(&text), SENSOR);
        else if (!strcmp(buf_text(&key), API_STATE) && json_read_text(read, &text))
            reads = !strcmp(buf_text(&text), "reads");
        else
            json_read_skip(read);
    buf_clear(&key);
    buf_clear(&text);
    return is_ours && reads;
}

static bool find_in_state(const struct buf *answer)
{
    struct json_read read;
    struct buf key;
    bool found = false;
    buf_init(&key, 256);
    json_read_init(&read, buf_text(answer), answer->size);
    json_read_object(&read);
    while (json_read_key(&read, &key))
        if (strcmp(buf_text(&key), API_SENSORS) != 0)
            json_read_skip(&read);
        else
            for (json_read_array(&read); json_read_more(&read);)
                found |= reads_calls(&read);
    buf_clear(&key);
    return found;
}

/* An agent may refuse to report its state to this user; sonde run asks it first nevertheless. */
static bool agent_counts(void)
{
    struct buf answer;
    int status = 0;
    buf_init(&answer, ANSWER_MAX);
    enum err err = agent_client_request_local("POST", API_PATH_CONTROL, bytes_of("{}"), PATIENCE_NS, &answer, &status);
    bool counts = !err && (status == 403 || (status == 200 && find_in_state(&answer)));
    buf_clear(&answer);
    return counts;
}

void check_syscalls_in_use(const struct doctor_target *target, struct finding *finding)
{
    char reason[REASON_MAX], path[PATH_MAX];
    enum err err = try_kernel(target, reason);
    if (!err)
        finding_available(finding, "the kernel, with eBPF");
    else if (agent_counts())
        finding_available(finding,
                          "the agent of this node if permitted, else libsonde-calls.so; eBPF is unavailable: %s",
                          reason);
    else if (install_paths_find(PROBE_LIBRARY_CALLS, path, sizeof path) == OK)
        finding_available(finding,
                          "libsonde-calls.so in the programs; no root agent is running, and eBPF is unavailable: %s",
                          reason);
    else
        finding_missing(finding, "See above", "None: only bytes read and written are available, from /proc/PID/io");
}
