/* The ways to count system calls, each tried out: eBPF is loaded and unloaded, the agent is asked how its sensor is. */
#include "doctor/check_syscalls.h"

#include "api/schema.h"
#include "net/http_client.h"
#include "net/json_read.h"
#include "base/install_paths.h"
#include "syscalls/ebpf.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MAX (1u << 20)
#define WHY_ROOM 400
#define PATIENCE_NS 2000000000u
#define SENSOR "syscalls"

/* Not when a captured tree is looked at: the kernel is this one's. */
static enum err try_kernel(const struct place *place, char why[WHY_ROOM])
{
    const unsigned all = EBPF_MAY_TIME | EBPF_MAY_WATCH_CGROUPS;
    struct ebpf *syscalls;
    why[0] = '\0';
    enum err err = place->root && *place->root ? ABSENT : ebpf_open(&syscalls, all, why, WHY_ROOM);
    if (!err)
        ebpf_close(&syscalls);
    else if (!why[0])
        snprintf(why, WHY_ROOM, "%s", err_text(err));
    return err;
}

void doctor_calls_kernel(const struct place *place, struct finding *finding)
{
    char why[WHY_ROOM];
    enum err err = try_kernel(place, why);
    if (!err)
        finding_there(finding, "eBPF is loaded while somebody asks: every call of every thread, with what was read and written");
    else
        finding_missing(finding, err == DENIED ? "Run as root, or have an agent run as root on this node" : "", "%s", why);
}

void doctor_calls_libc(const struct place *place, struct finding *finding)
{
    char path[PATH_MAX];
    (void)place;
    if (self_find_calls_probe(path, sizeof path) == OK)
        finding_there(finding, "libsonde-calls.so: calls that programs make through libc; those of static and Go programs with "
                      "sonde run --ptrace");
    else
        finding_missing(finding, "Install libsonde-calls.so beside libsonde-process.so", "libsonde-calls.so is not installed");
}

/* In one object of the list of sensors: is it ours, and does it read? */
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

/* What an agent does is not told to everybody: one that refuses us is asked first by sonde run all the same. */
static bool agent_counts(void)
{
    struct buf answer;
    int status = 0;
    buf_init(&answer, ANSWER_MAX);
    enum err err = ask_here("POST", API_PATH_CONTROL, bytes_of("{}"), PATIENCE_NS, &answer, &status);
    bool counts = !err && (status == 403 || (status == 200 && find_in_state(&answer)));
    buf_clear(&answer);
    return counts;
}

void doctor_calls_in_use(const struct place *place, struct finding *finding)
{
    char why[WHY_ROOM], path[PATH_MAX];
    enum err err = try_kernel(place, why);
    if (!err)
        finding_there(finding, "the kernel, by eBPF");
    else if (agent_counts())
        finding_there(finding, "the agent of this node if it may, else libsonde-calls.so, because: %s", why);
    else if (self_find_calls_probe(path, sizeof path) == OK)
        finding_there(finding, "libsonde-calls.so in the programs, because: %s; and no agent of root counts here", why);
    else
        finding_missing(finding, "See above", "Nothing: bytes read and written are known from /proc/PID/io, no calls");
}
