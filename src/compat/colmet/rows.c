/* Converts samples to rows: by names (fields.c) where that is enough, else by sensors.c. */
#include "compat/colmet/rows.h"

#include "base/clock.h"
#include "base/hash.h"
#include "compat/colmet/fields.h"
#include "compat/colmet/sensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_NUMBERS (1ull << 62)

struct colmet_rows {
    struct colmet_fields fields;
    struct colmet_last last;
    struct colmet_slots slots;
};

enum err colmet_rows_new(struct colmet_rows **rows)
{
    *rows = calloc(1, sizeof **rows);
    return *rows ? OK : NOMEM;
}

void colmet_rows_free(struct colmet_rows **rows)
{
    if (!*rows)
        return;
    colmet_last_clear(&(*rows)->last);
    colmet_slots_clear(&(*rows)->slots);
    free(*rows);
    *rows = NULL;
}

static uint64_t number_of_text(const char *text)
{
    return OWN_NUMBERS | (hash_add(HASH_START, text, strlen(text)) & (OWN_NUMBERS - 1));
}

uint64_t colmet_rows_job(const char *id)
{
    uint64_t number = 0;
    const char *at = id;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)
            || number >= OWN_NUMBERS)
            return number_of_text(id);
    return number ? number : number_of_text(id); /* 0 means the node */
}

static void add_values(struct colmet_slot *slot, const struct colmet_source *source, const struct colmet_map *map,
                       const struct sample *sample)
{
    const struct colmet_backend *backend = slot->row.backend;
    for (size_t c = 0; c < backend->count; c++) {
        uint16_t at = map->at[c];
        union value value;
        if (at == COLMET_NOWHERE || (sample->known && !sample->known[at])
            || !colmet_fields_convert(sample->values[at], sample->set->metrics[at].type, backend->columns[c].type,
                                      map->divisor[c], &value))
            continue;
        if (source->adds && slot->known[c])
            value.u64 += slot->values[c].u64;
        slot->values[c] = value;
        slot->known[c] = 1;
    }
}

/* /proc/uptime is in no set; derive it from the boot time. */
static void add_uptime(struct colmet_slot *slot, const struct sample *stat)
{
    for (size_t i = 0; i < stat->set->size; i++)
        if (strcmp(stat->set->metrics[i].name, "boot_time") == 0 && (!stat->known || stat->known[i])
            && stat->values[i].u64 <= stat->time_ns / NS_PER_S)
            colmet_slot_set(slot, 0, stat->time_ns / NS_PER_S - stat->values[i].u64);
}

/* Colmet reads the average power of the BMC; the current power is the next best. */
static void add_power(struct colmet_slot *slot, const struct sample *ipmi)
{
    for (size_t i = 0; i < ipmi->set->size && !slot->known[0]; i++)
        if (strcmp(ipmi->set->metrics[i].name, "power") == 0 && (!ipmi->known || ipmi->known[i]))
            slot->known[0] = colmet_fields_convert(ipmi->values[i], ipmi->set->metrics[i].type, COLMET_I64, 1, &slot->values[0]);
}

/* Samples of jobs for backends of jobs; the total, for sets with instances. */
static bool is_wanted(const struct colmet_source *source, const struct sample *sample)
{
    bool is_colmets = !source->fields;
    bool is_of_jobs = colmet_backends[source->backend].is_of_jobs;
    return is_colmets || (is_of_jobs == (sample->job != NULL) && (source->adds || !*sample->instance));
}

static enum err add_sample(struct colmet_rows *rows, const struct sample *sample)
{
    const struct colmet_source *source = colmet_fields_source(sample->set->name);
    if (!source)
        return colmet_sensors_add(&rows->slots, &rows->last, sample);
    if (!is_wanted(source, sample))
        return OK;
    struct colmet_slot *slot = source->joins ? colmet_slots_join(&rows->slots, source->backend, sample)
                                             : colmet_slots_begin(&rows->slots, source->backend, sample);
    if (!slot)
        return NOMEM;
    add_values(slot, source, colmet_fields_map(&rows->fields, source, sample->set), sample);
    if (source->backend == COLMET_PROCSTATS && source->fields && strcmp(source->set, "stat") == 0)
        add_uptime(slot, sample);
    if (source->backend == COLMET_IPMI && source->fields)
        add_power(slot, sample);
    return OK;
}

enum err colmet_rows_make(struct colmet_rows *rows, const struct batch *batch, const struct colmet_row **list, size_t *count)
{
    rows->last.round++;
    enum err err = colmet_slots_reset(&rows->slots, batch);
    for (size_t i = 0; i < batch->count && !err; i++)
        err = add_sample(rows, &batch->samples[i]);
    return err ? err : colmet_slots_sort(&rows->slots, list, count);
}

void colmet_rows_involved(const struct colmet_row *row, char *out, size_t size)
{
    size_t used = 1;
    out[0] = '[';
    for (size_t i = 0; i < row->involved_count; i++) {
        char number[32];
        size_t length = (size_t)snprintf(number, sizeof number, "%s%llu", i ? ", " : "", (unsigned long long)row->involved[i]);
        if (used + length + 2 > size)
            break;
        memcpy(out + used, number, length);
        used += length;
    }
    out[used++] = ']';
    memset(out + used, 0, size - used);
}
