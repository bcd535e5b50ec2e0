/* Software, hardware and hw-cache events as perf, the kernel's header and Colmet spell them; rNNN is hexadecimal. */
#include "proc/perf_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct known_event {
    const char *name, *kernel_name;
    uint32_t type;
    uint64_t config;
};

#define SOFTWARE(name, constant) { name, "PERF_COUNT_SW_" #constant, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##constant }
#define HARDWARE(name, constant) { name, "PERF_COUNT_HW_" #constant, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##constant }

static const struct known_event known_events[] = {
    SOFTWARE("cpu-clock", CPU_CLOCK),
    SOFTWARE("task-clock", TASK_CLOCK),
    SOFTWARE("page-faults", PAGE_FAULTS),
    SOFTWARE("faults", PAGE_FAULTS),
    SOFTWARE("context-switches", CONTEXT_SWITCHES),
    SOFTWARE("cs", CONTEXT_SWITCHES),
    SOFTWARE("cpu-migrations", CPU_MIGRATIONS),
    SOFTWARE("migrations", CPU_MIGRATIONS),
    SOFTWARE("minor-faults", PAGE_FAULTS_MIN),
    SOFTWARE("major-faults", PAGE_FAULTS_MAJ),
    SOFTWARE("alignment-faults", ALIGNMENT_FAULTS),
    SOFTWARE("emulation-faults", EMULATION_FAULTS),
    SOFTWARE("dummy", DUMMY),
    SOFTWARE("bpf-output", BPF_OUTPUT),
    SOFTWARE("cgroup-switches", CGROUP_SWITCHES),
    HARDWARE("cycles", CPU_CYCLES),
    HARDWARE("cpu-cycles", CPU_CYCLES),
    HARDWARE("instructions", INSTRUCTIONS),
    HARDWARE("cache-references", CACHE_REFERENCES),
    HARDWARE("cache-misses", CACHE_MISSES),
    HARDWARE("branches", BRANCH_INSTRUCTIONS),
    HARDWARE("branch-instructions", BRANCH_INSTRUCTIONS),
    HARDWARE("branch-misses", BRANCH_MISSES),
    HARDWARE("bus-cycles", BUS_CYCLES),
    HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
    HARDWARE("idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
    HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
    HARDWARE("idle-cycles-backend", STALLED_CYCLES_BACKEND),
    HARDWARE("ref-cycles", REF_CPU_CYCLES),
};

#define COLMET_HARDWARE(name, constant) { name, NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##constant }
#define COLMET_CACHE(name, constant) { name, NULL, PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##constant }
#define COLMET_SOFTWARE(name, constant) { name, NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##constant }

/* Colmet's names and what it counts under them. All caches are loads, and three names do not say what is counted:
 * cache_op_read and cache_result_access are L1 data loads, cache_op_prefetch is last-level loads. */
static const struct known_event colmet_events[] = {
    COLMET_HARDWARE("cpu_cycles", CPU_CYCLES),
    COLMET_HARDWARE("instructions", INSTRUCTIONS),
    COLMET_HARDWARE("cache_references", CACHE_REFERENCES),
    COLMET_HARDWARE("cache_misses", CACHE_MISSES),
    COLMET_HARDWARE("branch_instructions", BRANCH_INSTRUCTIONS),
    COLMET_HARDWARE("branch_misses", BRANCH_MISSES),
    COLMET_HARDWARE("bus_cycles", BUS_CYCLES),
    COLMET_HARDWARE("ref_cpu_cycles", REF_CPU_CYCLES),
    COLMET_CACHE("cache_l1d", L1D),
    COLMET_CACHE("cache_ll", LL),
    COLMET_CACHE("cache_dtlb", DTLB),
    COLMET_CACHE("cache_itlb", ITLB),
    COLMET_CACHE("cache_bpu", BPU),
    COLMET_CACHE("cache_node", NODE),
    COLMET_CACHE("cache_op_read", L1D),
    COLMET_CACHE("cache_op_prefetch", LL),
    COLMET_CACHE("cache_result_access", L1D),
    COLMET_SOFTWARE("cpu_clock", CPU_CLOCK),
    COLMET_SOFTWARE("task_clock", TASK_CLOCK),
    COLMET_SOFTWARE("page_faults", PAGE_FAULTS),
    COLMET_SOFTWARE("context_switches", CONTEXT_SWITCHES),
    COLMET_SOFTWARE("cpu_migrations", CPU_MIGRATIONS),
    COLMET_SOFTWARE("page_faults_min", PAGE_FAULTS_MIN),
    COLMET_SOFTWARE("page_faults_maj", PAGE_FAULTS_MAJ),
    COLMET_SOFTWARE("alignment_faults", ALIGNMENT_FAULTS),
    COLMET_SOFTWARE("emulation_faults", EMULATION_FAULTS),
    COLMET_SOFTWARE("dummy", DUMMY),
    COLMET_SOFTWARE("bpf_output", BPF_OUTPUT),
};

struct event_word {
    const char *text;
    unsigned value;
};

/* L1-dcache-load-misses = cache, operation, result; "misses" takes the singular of the operation. */
static const struct event_word caches[] = {
    { "L1-dcache", PERF_COUNT_HW_CACHE_L1D }, { "L1-icache", PERF_COUNT_HW_CACHE_L1I },
    { "LLC", PERF_COUNT_HW_CACHE_LL },        { "dTLB", PERF_COUNT_HW_CACHE_DTLB },
    { "iTLB", PERF_COUNT_HW_CACHE_ITLB },     { "branch", PERF_COUNT_HW_CACHE_BPU },
    { "node", PERF_COUNT_HW_CACHE_NODE },
};

#define RESULT(operation, result) (PERF_COUNT_HW_CACHE_OP_##operation << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct event_word cache_operations[] = {
    { "loads", RESULT(READ, ACCESS) },          { "load-misses", RESULT(READ, MISS) },
    { "stores", RESULT(WRITE, ACCESS) },        { "store-misses", RESULT(WRITE, MISS) },
    { "prefetches", RESULT(PREFETCH, ACCESS) }, { "prefetch-misses", RESULT(PREFETCH, MISS) },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct known_event *find_known(const char *name)
{
    for (size_t i = 0; i < COUNT(known_events); i++)
        if (!strcasecmp(name, known_events[i].name) || !strcasecmp(name, known_events[i].kernel_name))
            return &known_events[i];
    for (size_t i = 0; i < COUNT(colmet_events); i++)
        if (!strcmp(name, colmet_events[i].name))
            return &colmet_events[i];
    return NULL;
}

static bool encode_cache(const char *name, struct perf_event_spec *spec)
{
    for (size_t i = 0; i < COUNT(caches); i++) {
        size_t size = strlen(caches[i].text);
        if (strncasecmp(name, caches[i].text, size) || name[size] != '-')
            continue;
        for (size_t j = 0; j < COUNT(cache_operations); j++) {
            if (strcasecmp(name + size + 1, cache_operations[j].text))
                continue;
            spec->type = PERF_TYPE_HW_CACHE;
            spec->config = caches[i].value | cache_operations[j].value;
            return true;
        }
    }
    return false;
}

static bool encode_raw(const char *name, struct perf_event_spec *spec)
{
    size_t digits = *name == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;
    if (digits == 0 || digits > 16 || name[1 + digits])
        return false;
    spec->type = PERF_TYPE_RAW;
    spec->config = strtoull(name + 1, NULL, 16);
    return true;
}

enum err perf_names_encode(const char *name, struct perf_event_spec *spec)
{
    const struct known_event *known = find_known(name);
    if (known) {
        spec->type = known->type;
        spec->config = known->config;
        return OK;
    }
    return encode_cache(name, spec) || encode_raw(name, spec) ? OK : ABSENT;
}
