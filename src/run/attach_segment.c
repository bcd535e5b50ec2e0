/* Uses the metric names of the system call probe (probe/calls/calls.c), which are also mapped to tau's (compat/tau). */
#include "run/attach_segment.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/pid_job.h"
#include "probe/segment/segment.h"
#include "appmetrics/segment_claim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LABELS_CAPACITY 128

static struct segment segment;
static struct syscall_counts published;

static uint64_t *slots_of(const char *name, const char *labels, const char *unit, const char *help,
                          enum segment_value_type type)
{
    return segment_slots(&segment, segment_metric(&segment, &(struct segment_description){
        .name = name, .labels = labels, .unit = unit, .help = help, .kind = SEGMENT_COUNTER, .type = type,
    }));
}

static void publish_one(unsigned number, const struct syscall_count *now, const struct syscall_count *before, bool timed)
{
    char name[SYSCALL_NAME_MAX], labels[LABELS_CAPACITY];
    segment_append_label(labels, 0, sizeof labels, "call", syscall_names_write(number, name));
    segment_add_u64(slots_of("syscall_calls_total", labels, "", "System calls that returned", SEGMENT_U64),
                  now->calls - before->calls);
    segment_add_u64(slots_of("syscall_errors_total", labels, "", "System calls that failed", SEGMENT_U64),
                  now->errors - before->errors);
    if (syscall_names_result(number) != SYSCALL_RESULT_OTHER)
        segment_add_u64(slots_of("syscall_bytes_total", labels, "bytes", "Bytes that system calls read or wrote",
                                 SEGMENT_U64),
                      now->bytes - before->bytes);
    if (timed)
        segment_add_f64(slots_of("syscall_seconds_total", labels, "seconds", "Time in system calls", SEGMENT_F64),
                      (double)(now->time_ns - before->time_ns) / (double)NS_PER_S);
}

void attach_segment_begin(const struct attach_target *target)
{
    static struct job_id job; /* must outlive the segment */
    if (pid_job(NULL, target->pid, true, &job) == OK)
        log_info("the agent shows the system calls of process %d under job %s", (int)target->pid, job.id);
    else
        log_info("process %d belongs to no known job (cgroup, environment): the agent shows its system calls under its user",
                 (int)target->pid);
    const char *dir = getenv(SEGMENT_ENV_DIR);
    char number[SEGMENT_SOCKET_SIZE] = "";
    const char *socket = getenv(SEGMENT_ENV_SOCKET);
    if (socket && *socket)
        snprintf(number, sizeof number, "%" PRIx64, segment_socket_hash(socket));
    if (!segment_claim_is_held(dir && *dir ? dir : NULL, number))
        log_warn("--tell: no agent is running on this node. Start one with 'sonde agent'; this is possible at any time");
    segment_set_subject(&segment, &(struct segment_subject){ target->pid, target->uid, job.id });
}

void attach_segment_update(const struct syscall_counts *counts)
{
    segment_open(&segment, "attach");
    for (unsigned i = 0; i < SYSCALL_NAMES_MAX; i++)
        if (counts->of[i].calls > published.of[i].calls)
            publish_one(i, &counts->of[i], &published.of[i], counts->timed);
    published = *counts;
}

void attach_segment_end(void)
{
    segment_end(&segment);
}
