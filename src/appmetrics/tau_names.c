/* One table of rules. The spelling of tau_mpi_total_size is tau's own. */
#include "appmetrics/tau_names.h"

#include "appmetrics/quota.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CALL_MAX 128

#define ANY PROGRAM_ALIAS_OTHER
#define READS PROGRAM_ALIAS_READS
#define WRITES PROGRAM_ALIAS_WRITES

/* %s in name is the function or call, in lower case; in doc as it is. */
static const struct rule {
    const char *base, *label, *name, *doc;
    enum program_alias_way which;
} rules[] = {
    { "mpi_calls_total", "function", "tau_hits_total{function=\"%s\"}", "Number of function calls for %s", ANY },
    { "mpi_calls_total", "function", "tau_mpi_total{metric=\"hits\"}", "Aggregated MPI metrics", ANY },
    { "mpi_seconds_total", "function", "tau_time_total{function=\"%s\"}", "Total seconds spent for %s", ANY },
    { "mpi_seconds_total", "function", "tau_mpi_total{metric=\"time\"}", "Aggregated MPI metrics", ANY },
    { "mpi_sent_bytes_total", "function", "tau_size_total{function=\"%s\"}", "Total size (IN + OUT) for %s", ANY },
    { "mpi_sent_bytes_total", "function", "tau_size_out_total{function=\"%s\"}", "Total size (OUT) for %s", ANY },
    { "mpi_sent_bytes_total", "function", "tau_mpi_total{metric=\"size\"}", "Aggregated MPI metrics", ANY },
    { "mpi_sent_bytes_total", "function", "tau_mpi_total_size{metric=\"size_out\"}", "Aggregated MPI metrics", ANY },
    { "mpi_received_bytes_total", "function", "tau_size_total{function=\"%s\"}", "Total size (IN + OUT) for %s", ANY },
    { "mpi_received_bytes_total", "function", "tau_size_in_total{function=\"%s\"}", "Total size (IN) for %s", ANY },
    { "mpi_received_bytes_total", "function", "tau_mpi_total{metric=\"size\"}", "Aggregated MPI metrics", ANY },
    { "mpi_received_bytes_total", "function", "tau_mpi_total{metric=\"size_in\"}", "Aggregated MPI metrics", ANY },
    { "syscall_calls_total", "call", "strace_hits_total{scall=\"%s\"}", "Number of calls for syscall", ANY },
    { "syscall_calls_total", "call", "strace_total{desc=\"hits\"}", "Aggregated metrics of system calls", ANY },
    { "syscall_seconds_total", "call", "strace_time_total{scall=\"%s\"}", "Time spent in syscall", ANY },
    { "syscall_seconds_total", "call", "strace_total{desc=\"time\"}", "Aggregated metrics of system calls", ANY },
    { "syscall_seconds_total", "call", "strace_total{desc=\"read_time\"}", "Aggregated metrics of system calls", READS },
    { "syscall_seconds_total", "call", "strace_total{desc=\"write_time\"}", "Aggregated metrics of system calls", WRITES },
    { "syscall_bytes_total", "call", "strace_size_total{scall=\"%s\"}", "Total bytes size for %s", ANY },
    { "syscall_bytes_total", "call", "strace_read_size_total", "Total read size", READS },
    { "syscall_bytes_total", "call", "strace_total{desc=\"read_size\"}", "Aggregated metrics of system calls", READS },
    { "syscall_bytes_total", "call", "strace_write_size_total", "Total write size", WRITES },
    { "syscall_bytes_total", "call", "strace_total{desc=\"write_size\"}", "Aggregated metrics of system calls", WRITES },
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum program_alias_way program_alias_way(const char *call)
{
    if (!strcmp(call, "read") || !strcmp(call, "pread64") || begins(call, "pread") || !strcmp(call, "readv")
        || begins(call, "recv") || !strcmp(call, "mq_timedreceive"))
        return READS;
    if (!strcmp(call, "write") || begins(call, "pwrite") || !strcmp(call, "writev") || begins(call, "send")
        || !strcmp(call, "mq_timedsend") || !strcmp(call, "vmsplice"))
        return WRITES;
    return ANY;
}

/* The value of the one label, which has nothing that would need an escape. */
static bool value_of(const struct program_metric *metric, const char *label, char value[CALL_MAX])
{
    char front[32];
    int front_size = snprintf(front, sizeof front, "{%s=\"", label);
    const char *at = metric->name + metric->base_size, *end = metric->name + metric->name_size - 2;
    if (!begins(at, front))
        return false;
    at += front_size;
    if (at >= end || (size_t)(end - at) >= CALL_MAX || strcspn(at, "\\\",") != (size_t)(end - at))
        return false;
    memcpy(value, at, (size_t)(end - at));
    value[end - at] = '\0';
    return true;
}

/* pattern with its %s, if it has one. */
static void fill(char *out, size_t room, const char *pattern, const char *word)
{
    const char *hole = strstr(pattern, "%s");
    if (hole)
        snprintf(out, room, "%.*s%s%s", (int)(hole - pattern), pattern, word, hole + 2);
    else
        snprintf(out, room, "%s", pattern);
}

static struct program_metric *make(struct program_table *table, const struct program_metric *metric, const struct rule *rule,
                                   const char *call)
{
    char name[CALL_MAX * 2], doc[CALL_MAX * 2], small[CALL_MAX];
    struct program_metric *alias = NULL;
    size_t size = strlen(call);
    for (size_t i = 0; i <= size; i++)
        small[i] = (char)tolower((unsigned char)call[i]);
    fill(name, sizeof name, rule->name, small);
    fill(doc, sizeof doc, rule->doc, call);
    program_table_metric(table, &(struct program_description){
        .name = bytes_of(name), .doc = bytes_of(doc), .unit = { "", 0 }, .kind = PROGRAM_COUNTER, .is_alias = true,
        .scope = metric->owner,
    }, &alias);
    if (alias)
        program_room_use(table, alias);
    return alias;
}

static bool is_of(const struct program_metric *metric, const struct rule *rule)
{
    return strlen(rule->base) == metric->base_size && memcmp(rule->base, metric->name, metric->base_size) == 0;
}

size_t program_alias_metrics(struct program_table *table, const struct program_metric *metric,
                             struct program_metric *aliases[PROGRAM_ALIASES_MAX])
{
    char call[CALL_MAX];
    size_t count = 0;
    if (metric->kind != PROGRAM_COUNTER || (!begins(metric->name, "mpi_") && !begins(metric->name, "syscall_")))
        return 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && count < PROGRAM_ALIASES_MAX; i++) {
        const struct rule *rule = &rules[i];
        if (!is_of(metric, rule) || !value_of(metric, rule->label, call))
            continue;
        if (rule->which != ANY && rule->which != program_alias_way(call))
            continue;
        aliases[count] = make(table, metric, rule, call);
        count += aliases[count] != NULL;
    }
    return count;
}
