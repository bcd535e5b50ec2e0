/* Base units as Prometheus recommends: seconds, bytes, joules, celsius, ratio. Names pass `promtool check metrics`. */
#include "model/prom_name.h"

#include <string.h>

static const struct unit {
    const char *ours, *base;
    uint64_t times;
    unsigned decimals;
} units[] = {
    { "1", "", 1, 0 },           { "", "", 1, 0 },
    { "B", "bytes", 1, 0 },      { "KB", "bytes", 1024, 0 },     { "kB", "bytes", 1024, 0 },
    { "KiB", "bytes", 1024, 0 }, { "MiB", "bytes", 1048576, 0 }, { "MB", "bytes", 1000000, 0 },
    { "s", "seconds", 1, 0 },    { "ms", "seconds", 1, 3 },      { "us", "seconds", 1, 6 },
    { "ns", "seconds", 1, 9 },   { "min", "seconds", 60, 0 },    { "cs", "seconds", 1, 2 },
    { "J", "joules", 1, 0 },     { "mJ", "joules", 1, 3 },       { "uJ", "joules", 1, 6 },
    { "W", "watts", 1, 0 },      { "mW", "watts", 1, 3 },        { "uW", "watts", 1, 6 },
    { "C", "celsius", 1, 0 },    { "mC", "celsius", 1, 3 },
    { "V", "volts", 1, 0 },      { "mV", "volts", 1, 3 },
    { "A", "amperes", 1, 0 },    { "mA", "amperes", 1, 3 },
    { "Hz", "hertz", 1, 0 },     { "kHz", "hertz", 1000, 0 },    { "MHz", "hertz", 1000000, 0 },
    { "B/s", "bytes_per_second", 1, 0 },
    { "MB*us", "byte_seconds", 1048576, 6 },
    { "%", "ratio", 1, 2 },      { "RPM", "rpm", 1, 0 },         { "rpm", "rpm", 1, 0 },
};

static void add_char(struct prom_name *name, char c)
{
    if (name->size < PROM_NAME_MAX - 8) /* leaves space for "_total" */
        name->text[name->size++] = c;
}

/* Converts to lower case, and each run of other characters than letters and digits to one '_'. */
static void add_snake(struct prom_name *name, const char *string)
{
    for (; *string; string++) {
        char c = *string >= 'A' && *string <= 'Z' ? (char)(*string + 32) : *string;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_plain || (name->size && name->text[name->size - 1] != '_'))
            add_char(name, is_plain ? c : '_');
    }
    while (name->size && name->text[name->size - 1] == '_')
        name->size--;
}

static bool ends_with(const struct prom_name *name, const char *end)
{
    size_t size = strlen(end);
    return name->size > size && name->text[name->size - size - 1] == '_'
        && memcmp(name->text + name->size - size, end, size) == 0;
}

static bool is_abbreviation(const char *word, size_t size)
{
    static const char *const units_too_short[] = { "s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m",
                                                   "h", "d" };
    if (size > 3)
        return false;
    for (size_t i = 0; i < sizeof units_too_short / sizeof *units_too_short; i++)
        if (strlen(units_too_short[i]) == size && memcmp(units_too_short[i], word, size) == 0)
            return true;
    return false;
}

/* Joins string that look like units with their neighbour, from begin on: "s_reclaimable" is not a time. */
static void join_abbreviations(struct prom_name *name, size_t begin)
{
    size_t end = name->size, to = begin;
    for (size_t at = begin; at < end;) {
        size_t size = 0;
        while (at + size < end && name->text[at + size] != '_')
            size++;
        bool is_short = is_abbreviation(name->text + at, size), is_last = at + size >= end;
        if (is_short && is_last && to > begin && name->text[to - 1] == '_')
            to--; /* the '_' before it */
        memmove(name->text + to, name->text + at, size);
        to += size;
        if (!is_short && !is_last)
            name->text[to++] = '_';
        at += size + 1;
    }
    name->size = to;
}

/* Replaces suffixes that Prometheus reserves: "_total" is appended to counters later, the others belong to histograms. */
static void replace_reserved(struct prom_name *name)
{
    static const struct { const char *end, *better; } reserved[] = {
        { "total", "all" }, { "count", "number" }, { "sum", "summed" }, { "bucket", "buckets" }, { "info", "infos" },
        { "created", "made" },
    };
    if (name->is_counter && ends_with(name, "total"))
        name->size -= strlen("_total");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (ends_with(name, reserved[i].end)) {
            name->size -= strlen(reserved[i].end) + 1;
            add_char(name, '_');
            add_snake(name, reserved[i].better);
            return;
        }
}

static void set_unit(struct prom_name *name, const char *ours)
{
    name->size = 0;
    name->unit = "";
    name->times = 1;
    name->decimals = 0;
    for (size_t i = 0; ours && i < sizeof units / sizeof *units; i++)
        if (*units[i].ours == *ours && strcmp(units[i].ours, ours) == 0) {
            name->unit = units[i].base;
            name->times = units[i].times;
            name->decimals = units[i].decimals;
            return;
        }
}

bool prom_name_of(const struct set *set, const struct metric *metric, struct prom_name *name)
{
    set_unit(name, metric->unit);
    name->is_counter = metric->kind == COUNTER;
    add_snake(name, "sonde");
    add_char(name, '_');
    add_snake(name, set->name);
    add_char(name, '_');
    size_t before = name->size;
    add_snake(name, metric->name);
    if (name->size <= before)
        return false;
    join_abbreviations(name, before);
    if (*name->unit && !ends_with(name, name->unit)) {
        add_char(name, '_');
        add_snake(name, name->unit);
    } else if (!*name->unit) {
        replace_reserved(name);
    }
    name->text[name->size] = '\0';
    return *name->unit == '\0' || ends_with(name, name->unit); /* else it was truncated */
}
