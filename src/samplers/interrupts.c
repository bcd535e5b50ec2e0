/* Interrupts, from /proc/interrupts: a header that names the online CPUs, then "24:  7  8  IO-APIC 5-edge virtio0" for
 * each interrupt. Every interrupt is a metric, every CPU a sample. On large nodes that would be tens of thousands of
 * values per reading: above a limit, one sample holds the sums over all CPUs instead. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/scan.h"
#include "base/vec.h"
#include "proc/textfile.h"
#include "samplers/counter.h"
#include "samplers/keyed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CPUS_MAX 8192

/* Lines with one number for the whole node. */
static const struct metric error_metrics[] = {
    { "errors", "1", COUNTER, U64, "spurious interrupts and errors", "ERR" },
    { "misrouted", "1", COUNTER, U64, "misrouted interrupts", "MIS" },
};
enum { ERRORS = 2 };
static const struct set error_set = { "interrupts_errors", error_metrics, ERRORS };

struct interrupts_cpu {
    uint32_t number;
    char name[16];
    struct keyed_last last;
};

struct interrupts {
    uint64_t values_max;
    struct textfile file;
    struct keyed keyed;
    struct interrupts_cpu **cpus; /* all CPUs seen so far */
    size_t cpu_count;
    struct interrupts_cpu **columns; /* the CPUs of the header, in its order */
    size_t column_count, column_capacity;
    char *header;
    size_t header_size;
    struct keyed_last sums;
    uint64_t error_last[ERRORS];
};

static const struct setting settings[] = {
    { "values", SETTING_U64, "4096", offsetof(struct interrupts, values_max),
      "above this number of values (interrupts x CPUs), only sums over all CPUs are read" },
    { .key = NULL },
};

static const struct keyed_format format = { .end = ':' };

static int error_of(const char *key, size_t size)
{
    for (int i = 0; i < ERRORS; i++)
        if (size == 3 && !strncasecmp(key, error_metrics[i].source, 3))
            return i;
    return -1;
}

static void describe(struct bytes key, const char *line, struct keyed_description *description)
{
    char name[KEYED_NAME_MAX];
    if (error_of(key.data, key.size) >= 0) {
        description->name[0] = '\0';
        return;
    }
    snprintf(name, sizeof name, "%s", description->name);
    snprintf(description->name, sizeof description->name, "irq_%.50s", name[0] == '_' ? name + 1 : name);
    (void)line;
    const char *at = key.data + key.size + 1;
    for (uint64_t ignored; scan_u64(&at, &ignored);) { }
    size_t used = (size_t)snprintf(description->help, sizeof description->help, "interrupts %.*s ", (int)key.size,
                                   key.data);
    for (; *at && *at != '\n' && used + 1 < sizeof description->help; at++) /* collapse the blanks between columns */
        if (*at != ' ' || description->help[used - 1] != ' ')
            description->help[used++] = (char)(*at >= ' ' && *at < 0x7f ? *at : '?');
    description->help[used] = '\0';
}

static struct interrupts_cpu *cpu_of(struct interrupts *interrupts, uint32_t number)
{
    for (size_t i = 0; i < interrupts->cpu_count; i++)
        if (interrupts->cpus[i]->number == number)
            return interrupts->cpus[i];
    if (array_resize(interrupts->cpus, interrupts->cpu_count + 1))
        return NULL;
    struct interrupts_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return NULL;
    cpu->number = number;
    snprintf(cpu->name, sizeof cpu->name, "cpu%u", number);
    return interrupts->cpus[interrupts->cpu_count++] = cpu;
}

static enum err add_column(struct interrupts *interrupts, uint32_t number)
{
    if (array_reserve(interrupts->columns, interrupts->column_capacity, interrupts->column_count + 1, VEC_MAX))
        return NOMEM;
    struct interrupts_cpu *cpu = cpu_of(interrupts, number);
    if (!cpu)
        return NOMEM;
    interrupts->columns[interrupts->column_count++] = cpu;
    return OK;
}

/* "           CPU0       CPU2 ": CPUs go online and offline. */
static enum err find_columns(struct interrupts *interrupts, const char *line)
{
    enum err err = OK;
    interrupts->column_count = 0;
    while (!err && *(line += strspn(line, " ")) == 'C') {
        uint64_t number;
        line += strlen("C");
        if (strncmp(line, "PU", 2) != 0 || (line += 2, !scan_u64(&line, &number)) || number >= CPUS_MAX)
            return CORRUPT;
        err = add_column(interrupts, (uint32_t)number);
    }
    return err || interrupts->column_count ? err : CORRUPT;
}

/* Nothing to do while the header is unchanged, up to its newline: the last CPU may have come back. */
static enum err check_header(struct interrupts *interrupts)
{
    const char *text = interrupts->file.text;
    size_t size = interrupts->header_size;
    if (size && !strncmp(text, interrupts->header, size) && text[size] == '\n')
        return OK;
    size = strcspn(text, "\n");
    if (array_resize(interrupts->header, size + 1))
        return NOMEM;
    memcpy(interrupts->header, text, size);
    interrupts->header[size] = '\0';
    interrupts->header_size = 0;
    enum err err = find_columns(interrupts, interrupts->header);
    interrupts->header_size = err ? 0 : size;
    return err;
}

static bool is_summed(const struct interrupts *interrupts)
{
    return interrupts->keyed.wanted * interrupts->column_count > interrupts->values_max;
}

/* The header line has no key, so keyed ignores it. */
static enum err add_keys(struct interrupts *interrupts)
{
    const char *first = scan_next_line(interrupts->file.text);
    enum err err = first ? keyed_add_keys(&interrupts->keyed, &format, first) : OK;
    return err ? err : keyed_make_set(&interrupts->keyed);
}

static enum err reserve_counters(struct interrupts *interrupts)
{
    if (is_summed(interrupts))
        return keyed_last_reserve(&interrupts->sums, &interrupts->keyed);
    enum err err = OK;
    for (size_t i = 0; i < interrupts->column_count && !err; i++)
        err = keyed_last_reserve(&interrupts->columns[i]->last, &interrupts->keyed);
    return err;
}

static void interrupts_close(void *state)
{
    struct interrupts *interrupts = state;
    textfile_close(&interrupts->file);
    keyed_clear(&interrupts->keyed);
    keyed_last_clear(&interrupts->sums);
    for (size_t i = 0; i < interrupts->cpu_count; i++) {
        keyed_last_clear(&interrupts->cpus[i]->last);
        free(interrupts->cpus[i]);
    }
    free(interrupts->cpus);
    free(interrupts->columns);
    free(interrupts->header);
}

static enum err interrupts_open(void *state, const struct sampler_context *context)
{
    struct interrupts *interrupts = state;
    keyed_init(&interrupts->keyed, "interrupts", describe);
    interrupts->keyed.instances = "cpu";
    enum err err = textfile_open(&interrupts->file, context->root, "/proc/interrupts", TEXTFILE_PAGES);
    if (!err)
        err = check_header(interrupts);
    if (!err)
        err = add_keys(interrupts);
    if (err)
        interrupts_close(interrupts);
    return err;
}

static void set_sum(struct interrupts *interrupts, struct sample *sample, uint32_t place, const char *at)
{
    uint64_t sum = 0, value;
    size_t count = 0;
    for (; count < interrupts->column_count && scan_u64(&at, &value); count++)
        sum += value;
    if (count)
        counter_set(sample, place, sum, &interrupts->sums.values[place]);
}

static void set_columns(struct interrupts *interrupts, struct sample *samples, uint32_t place, const char *at)
{
    uint64_t value;
    for (size_t i = 0; i < interrupts->column_count && scan_u64(&at, &value); i++)
        if (!samples[i].known[place])
            counter_set(&samples[i], place, value, &interrupts->columns[i]->last.values[place]);
}

static void fill(struct interrupts *interrupts, struct sample *samples, const char *text)
{
    size_t expected = 0, unknown_lines = 0, size = samples->set->size;
    bool summed = is_summed(interrupts);
    for (const char *line = text; line && *line; line = scan_next_line(line)) {
        const char *begin = keyed_skip(&format, line);
        size_t found = keyed_find(&interrupts->keyed, begin, &expected);
        const struct keyed_key *key = found == KEYED_NONE ? NULL : &interrupts->keyed.keys[found];
        unknown_lines += !key;
        if (!key || key->place >= size)
            continue;
        if (summed)
            set_sum(interrupts, samples, key->place, begin + key->size);
        else
            set_columns(interrupts, samples, key->place, begin + key->size);
    }
    interrupts->keyed.has_new_keys = unknown_lines > interrupts->keyed.unknown_lines;
}

static enum err add_errors(struct interrupts *interrupts, const char *text, uint64_t time_ns, struct batch *out)
{
    struct sample *sample = NULL;
    for (const char *line = text; line && *line; line = scan_next_line(line)) {
        const char *at = keyed_skip(&format, line);
        size_t size = strcspn(at, ":\n");
        int i = at[size] == ':' ? error_of(at, size) : -1;
        uint64_t value;
        at += size + 1;
        if (i < 0 || !scan_u64(&at, &value))
            continue;
        if (!sample)
            sample = batch_add(out, &error_set, time_ns, "");
        if (!sample)
            return NOMEM;
        counter_set(sample, (size_t)i, value, &interrupts->error_last[i]);
    }
    return OK;
}

static enum err interrupts_read(void *state, struct batch *out)
{
    struct interrupts *interrupts = state;
    enum err err = textfile_read(&interrupts->file);
    if (!err)
        err = check_header(interrupts);
    if (!err && interrupts->keyed.has_new_keys)
        err = add_keys(interrupts);
    if (!err)
        err = reserve_counters(interrupts);
    if (err)
        return err;
    uint64_t time_ns = clock_realtime_ns();
    size_t first = out->count, count = is_summed(interrupts) ? 1 : interrupts->column_count;
    const struct set *set = keyed_set(&interrupts->keyed);
    const char *text = interrupts->file.text + interrupts->header_size + 1;
    for (size_t i = 0; i < count; i++)
        if (!batch_add(out, set, time_ns, is_summed(interrupts) ? "" : interrupts->columns[i]->name))
            return NOMEM;
    fill(interrupts, &out->samples[first], text);
    return add_errors(interrupts, text, time_ns, out);
}

const struct sampler sampler_interrupts = {
    .name = "interrupts",
    .about = "interrupts of each kind on each CPU",
    .settings = settings,
    .state_size = sizeof(struct interrupts),
    .open = interrupts_open,
    .read = interrupts_read,
    .close = interrupts_close,
};
