/* The label of each numbered counter is stored with the row, as in Colmet's mapping files. */
#include "compat/colmet/sensors.h"

#include "base/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGES 4
#define ZONES 3
#define MIB (1024 * 1024)

static bool find_value(const struct sample *sample, const char *name, double *value)
{
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        if (strcmp(metric->name, name) != 0)
            continue;
        union value v = sample->values[i];
        *value = metric->type == F64 ? v.f64 : metric->type == I64 ? (double)v.i64 : (double)v.u64;
        return !sample->known || sample->known[i];
    }
    return false;
}

static bool find_u64(const struct sample *sample, const char *name, uint64_t *value)
{
    for (size_t i = 0; i < sample->set->size; i++)
        if (strcmp(sample->set->metrics[i].name, name) == 0) {
            *value = sample->values[i].u64;
            return sample->set->metrics[i].type == U64 && (!sample->known || sample->known[i]);
        }
    return false;
}

/* The first five events, in the agent's order. */
static enum err add_perf(struct colmet_slots *slots, struct colmet_last *last, const struct sample *sample)
{
    if (!sample->job || *sample->instance)
        return OK;
    struct colmet_slot *slot = colmet_slots_begin(slots, COLMET_PERFHW, sample);
    struct colmet_last_entry *entry = slot ? colmet_last_find(last, slot->row.host, sample->job, 'p', slots->batch->stream,
                                                              sample->time_ns) : NULL;
    if (!entry)
        return NOMEM;
    for (size_t i = 0; i < COLMET_PERF_COUNTERS && i < sample->set->size; i++) {
        uint64_t difference;
        colmet_slot_label(slot, i, sample->set->metrics[i].name);
        if ((!sample->known || sample->known[i])
            && colmet_last_difference(entry, i, sample->values[i].u64, &difference))
            colmet_slot_set(slot, i, difference);
    }
    return OK;
}

#define ZONE(number, zone) \
    "energy_microjoule,package-" #number ",zone_" #zone, "max_energy_range_microjoule,package-" #number ",zone_" #zone
#define PACKAGE(number) ZONE(number, package), ZONE(number, core), ZONE(number, dram)

static const char *const rapl_labels[COLMET_RAPL_COUNTERS] = { PACKAGE(0), PACKAGE(1), PACKAGE(2), PACKAGE(3) };

/* "package-1", "package-1-die-0" */
static bool package_of(const char *instance, uint64_t *package)
{
    static const char prefix[] = "package-";
    const char *at = instance + strlen(prefix);
    return strncmp(instance, prefix, strlen(prefix)) == 0 && scan_u64(&at, package) && (!*at || *at == '-');
}

/* Adds up the dies of a package. */
static void add_zone(struct colmet_slot *slot, struct colmet_last_entry *entry, const struct sample *sample, size_t counter,
                     size_t zone)
{
    static const char *const energies[] = { "package", "core", "dram" }, *const ranges[] = { "package_range", "core_range",
                                                                                              "dram_range" };
    uint64_t energy, range, difference;
    bool is_second = slot->known[counter];
    if (!find_u64(sample, energies[zone], &energy))
        return;
    colmet_slot_label(slot, counter, rapl_labels[counter]);
    colmet_slot_label(slot, counter + 1, rapl_labels[counter + 1]);
    if (!colmet_last_difference(entry, zone, energy, &difference))
        return;
    colmet_slot_set(slot, counter, difference + (is_second ? slot->values[counter].u64 : 0));
    if (find_u64(sample, ranges[zone], &range))
        colmet_slot_set(slot, counter + 1, range + (is_second ? slot->values[counter + 1].u64 : 0));
}

/* 0, as in Colmet, for zones that a package has never reported, while it reports others. */
static void fill_unsupported(struct colmet_slot *slot, const struct colmet_last_entry *entry, size_t first)
{
    if (!slot->known[first] && !slot->known[first + 2] && !slot->known[first + 4])
        return;
    for (size_t zone = 0; zone < ZONES; zone++) {
        bool is_supported = (entry->now_known | entry->before_known) >> zone & 1;
        for (size_t i = first + 2 * zone; !is_supported && i < first + 2 * zone + 2; i++)
            if (!slot->known[i])
                colmet_slot_set(slot, i, 0);
    }
}

static enum err add_rapl(struct colmet_slots *slots, struct colmet_last *last, const struct sample *sample)
{
    uint64_t package;
    if (sample->job || !package_of(sample->instance, &package) || package >= PACKAGES)
        return OK;
    struct colmet_slot *slot = colmet_slots_join(slots, COLMET_RAPL, sample);
    struct colmet_last_entry *entry = slot ? colmet_last_find(last, slot->row.host, sample->instance, 'r',
                                                              slots->batch->stream, sample->time_ns) : NULL;
    if (!entry)
        return NOMEM;
    for (size_t zone = 0; zone < ZONES; zone++)
        add_zone(slot, entry, sample, 2 * (ZONES * (size_t)package + zone), zone);
    fill_unsupported(slot, entry, 2 * ZONES * (size_t)package);
    return OK;
}

/* The number at the end of "x86_pkg_temp_0" or "thermal_zone3". Chips ("coretemp/Core 1") have none. */
static bool zone_of(const char *instance, size_t *zone)
{
    const char *at = instance + strlen(instance);
    uint64_t number;
    while (at > instance && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (strchr(instance, '/') || !scan_u64(&at, &number) || number >= COLMET_TEMPERATURE_COUNTERS)
        return false;
    *zone = (size_t)number;
    return true;
}

static enum err add_temperature(struct colmet_slots *slots, const struct sample *sample)
{
    double degrees;
    size_t zone;
    if (sample->job || !zone_of(sample->instance, &zone) || !find_value(sample, "temperature", &degrees))
        return OK;
    struct colmet_slot *slot = colmet_slots_join(slots, COLMET_TEMPERATURE, sample);
    if (!slot)
        return NOMEM;
    slot->values[zone].i64 = (int64_t)degrees;
    slot->known[zone] = 1;
    colmet_slot_label(slot, zone, sample->instance);
    return OK;
}

enum { POWER, TEMPERATURE, UTILIZATION, MEMORY_UTILIZATION, MEMORY_TOTAL, MEMORY_FREE, MEMORY_USED };

/* Sums over several cards, and the highest temperature. */
static void add_card(struct colmet_slot *slot, const struct sample *card)
{
    static const struct { const char *metric; double divisor; } fields[] = {
        [POWER] = { "power", 1 }, [TEMPERATURE] = { "temperature", 1 }, [UTILIZATION] = { "utilization", 1 },
        [MEMORY_UTILIZATION] = { "memory_utilization", 1 }, [MEMORY_TOTAL] = { "memory_total", MIB },
        [MEMORY_FREE] = { "memory_free", MIB }, [MEMORY_USED] = { "memory_used", MIB },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        double value;
        if (!find_value(card, fields[i].metric, &value) || !(fabs(value) < 1e15))
            continue;
        int64_t number = (int64_t)(value / fields[i].divisor), before = slot->known[i] ? slot->values[i].i64 : 0;
        slot->values[i].i64 = i != TEMPERATURE ? before + number : slot->known[i] && before > number ? before : number;
        slot->known[i] = 1;
    }
}

/* The cards used by a job. */
static enum err add_gpu_job(struct colmet_slots *slots, const struct sample *sample)
{
    uint64_t held, processes;
    bool is_held = find_u64(sample, "held", &held) && held, is_used = find_u64(sample, "processes", &processes) && processes;
    if (!sample->job || (!is_held && !is_used))
        return OK;
    struct colmet_slot *slot = colmet_slots_join(slots, COLMET_NVIDIA, sample);
    if (!slot)
        return NOMEM;
    for (size_t i = 0; i < slots->batch->count; i++) {
        const struct sample *card = &slots->batch->samples[i];
        if (!card->job && strcmp(card->set->name, "gpu") == 0 && strcmp(card->instance, sample->instance) == 0) {
            add_card(slot, card);
            break;
        }
    }
    return OK;
}

/* All cards of the node. */
static enum err add_gpu(struct colmet_slots *slots, const struct sample *sample)
{
    struct colmet_slot *slot = sample->job ? NULL : colmet_slots_join(slots, COLMET_NVIDIA, sample);
    if (slot)
        add_card(slot, sample);
    return slot || sample->job ? OK : NOMEM;
}

enum err colmet_sensors_add(struct colmet_slots *slots, struct colmet_last *last, const struct sample *sample)
{
    const char *set = sample->set->name;
    if (strcmp(set, "perf") == 0)
        return add_perf(slots, last, sample);
    if (strcmp(set, "rapl") == 0)
        return add_rapl(slots, last, sample);
    if (strcmp(set, "temperature") == 0)
        return add_temperature(slots, sample);
    if (strcmp(set, "gpu") == 0)
        return add_gpu(slots, sample);
    return strcmp(set, "gpu_job") == 0 ? add_gpu_job(slots, sample) : OK;
}
