/* Software, hardware and hardware-cache events as perf and as the kernel's header spell them; rNNN as hexadecimal. */
#include "sample/perf_names.h"

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

struct word {
    const char *text;
    unsigned value;
};

/* L1-dcache-load-misses = cache, operation, result; misses take the singular of the operation. */
static const struct word caches[] = {
    { "L1-dcache", PERF_COUNT_HW_CACHE_L1D }, { "L1-icache", PERF_COUNT_HW_CACHE_L1I },
    { "LLC", PERF_COUNT_HW_CACHE_LL },        { "dTLB", PERF_COUNT_HW_CACHE_DTLB },
    { "iTLB", PERF_COUNT_HW_CACHE_ITLB },     { "branch", PERF_COUNT_HW_CACHE_BPU },
    { "node", PERF_COUNT_HW_CACHE_NODE },
};

#define RESULT(operation, result) (PERF_COUNT_HW_CACHE_OP_##operation << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct word cache_operations[] = {
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
