/* A table of rules. The spelling of tau_mpi_total_size is tau's own. */
#include "compat/tau/alias.h"


#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CALL_MAX 128

#define ANY TAU_CALL_OTHER
#define READS TAU_CALL_READS
#define WRITES TAU_CALL_WRITES

/* %s is the function or call, in names in lower case. */
static const struct alias_rule {
    const char *base, *label, *name, *doc;
    enum tau_call_direction direction; /* ANY: of all calls */
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

enum tau_call_direction tau_call_direction(const char *call)
{
    if (!strcmp(call, "read") || !strcmp(call, "pread64") || begins(call, "pread") || !strcmp(call, "readv")
        || begins(call, "recv") || !strcmp(call, "mq_timedreceive"))
        return READS;
    if (!strcmp(call, "write") || begins(call, "pwrite") || !strcmp(call, "writev") || begins(call, "send")
        || !strcmp(call, "mq_timedsend") || !strcmp(call, "vmsplice"))
        return WRITES;
    return ANY;
}

/* The value of its only label, without escapes. False: it has another one. */
static bool label_value(const struct program_metric *metric, const char *label, char value[CALL_MAX])
{
    char front[32];
    int front_size = snprintf(front, sizeof front, "{%s=\"", label);
    const char *at = metric->name.text + metric->name.base_size, *end = metric->name.text + metric->name.size - 2;
    if (!begins(at, front))
        return false;
    at += front_size;
    if (at >= end || (size_t)(end - at) >= CALL_MAX || strcspn(at, "\\\",") != (size_t)(end - at))
        return false;
    memcpy(value, at, (size_t)(end - at));
    value[end - at] = '\0';
    return true;
}

/* The pattern with call instead of %s, if it has one. */
static void fill(char out[REGISTRY_ALIAS_SIZE], const char *pattern, const char *call)
{
    const char *at = strstr(pattern, "%s");
    if (at)
        snprintf(out, REGISTRY_ALIAS_SIZE, "%.*s%s%s", (int)(at - pattern), pattern, call, at + 2);
    else
        snprintf(out, REGISTRY_ALIAS_SIZE, "%s", pattern);
}

static bool applies(const struct alias_rule *rule, const struct program_metric *metric, char call[CALL_MAX])
{
    return strlen(rule->base) == metric->name.base_size && memcmp(rule->base, metric->name.text, metric->name.base_size) == 0
           && label_value(metric, rule->label, call)
           && (rule->direction == ANY || rule->direction == tau_call_direction(call));
}

size_t tau_alias_list(const struct program_metric *metric, struct metric_alias list[REGISTRY_ALIASES_MAX])
{
    char call[CALL_MAX], lower[CALL_MAX];
    size_t count = 0;
    if (!begins(metric->name.text, "mpi_") && !begins(metric->name.text, "syscall_"))
        return 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && count < REGISTRY_ALIASES_MAX; i++) {
        if (!applies(&rules[i], metric, call))
            continue;
        for (size_t k = 0; k <= strlen(call); k++)
            lower[k] = (char)tolower((unsigned char)call[k]);
        fill(list[count].name, rules[i].name, lower);
        fill(list[count++].doc, rules[i].doc, call);
    }
    return count;
}
