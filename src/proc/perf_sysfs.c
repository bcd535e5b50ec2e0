/* /sys/bus/event_source/devices/PMU: type (a number), events/NAME ("event=0x3c,umask=0x1"), format/TERM
 * ("config:0-7"). */
#include "proc/perf_sysfs.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256

static enum err read_text(const char *root, const char *unit, const char *directory, const char *file, char *text)
{
    char path[1024];
    int size = snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/%s/%s", unit, directory, file);
    if (size < 0 || (size_t)size >= sizeof path || strchr(file, '/') || strstr(path, ".."))
        return USAGE;
    return file_read_line(root, path, text, TEXT_MAX);
}

static enum err apply_range(const char *range, char **end, uint64_t *value, uint64_t *word)
{
    unsigned long low = strtoul(range, end, 10), high = low;
    if (*end == range)
        return CORRUPT;
    if (**end == '-') {
        const char *second = *end + 1;
        high = strtoul(second, end, 10);
        if (*end == second)
            return CORRUPT;
    }
    if (low > high || high > 63)
        return CORRUPT;
    for (unsigned long bit = low; bit <= high; bit++, *value >>= 1)
        *word |= (*value & 1) << bit;
    return OK;
}

enum err perf_sysfs_apply(const char *format, uint64_t value, struct perf_event_spec *spec)
{
    size_t size = strcspn(format, ":");
    uint64_t *word = size == 6 && !strncmp(format, "config", size)    ? &spec->config
                     : size == 7 && !strncmp(format, "config1", size) ? &spec->config1
                     : size == 7 && !strncmp(format, "config2", size) ? &spec->config2
                                                                      : NULL;
    if (!word || format[size] != ':')
        return CORRUPT;
    const char *range = format + size + 1;
    for (;;) {
        char *end;
        enum err err = apply_range(range, &end, &value, word);
        if (err || *end == '\0')
            return err ? err : value ? USAGE : OK;
        if (*end != ',')
            return CORRUPT;
        range = end + 1;
    }
}

static enum err apply_terms(const char *root, const char *unit, const char *terms, int depth,
                            struct perf_event_spec *spec);

/* term=value, term (= 1), or the name of an event, which expands to more terms. */
static enum err apply_term(const char *root, const char *unit, char *term, int depth, struct perf_event_spec *spec)
{
    char text[TEXT_MAX], *equals = strchr(term, '=');
    uint64_t value = 1;
    if (equals) {
        char *end;
        *equals = '\0';
        value = strtoull(equals + 1, &end, 0);
        if (end == equals + 1 || *end)
            return USAGE;
    } else if (depth == 0 && read_text(root, unit, "events", term, text) == OK) {
        return apply_terms(root, unit, text, depth + 1, spec);
    }
    if (read_text(root, unit, "format", term, text) == OK)
        return perf_sysfs_apply(text, value, spec);
    if (!strcmp(term, "config"))
        spec->config |= value;
    else if (!strcmp(term, "config1"))
        spec->config1 |= value;
    else
        return USAGE;
    return OK;
}

static enum err apply_terms(const char *root, const char *unit, const char *terms, int depth,
                            struct perf_event_spec *spec)
{
    char copy[TEXT_MAX], *rest = copy, *term;
    size_t size = strlen(terms) + 1;
    if (size > sizeof copy)
        return USAGE;
    memcpy(copy, terms, size);
    enum err err = OK;
    while (!err && (term = strsep(&rest, ",")))
        if (*term)
            err = apply_term(root, unit, term, depth, spec);
    return err;
}

enum err perf_sysfs_encode(const char *root, const char *name, struct perf_event_spec *spec)
{
    char unit[64], terms[TEXT_MAX], text[TEXT_MAX];
    const char *slash = strchr(name, '/');
    if (!slash || slash == name || (size_t)(slash - name) >= sizeof unit)
        return USAGE;
    memcpy(unit, name, (size_t)(slash - name));
    unit[slash - name] = '\0';
    size_t size = strcspn(slash + 1, "/");
    if (size == 0 || size >= sizeof terms || strcmp(slash + 1 + size, "/"))
        return USAGE;
    memcpy(terms, slash + 1, size);
    terms[size] = '\0';
    enum err err = read_text(root, unit, ".", "type", text);
    if (err)
        return err;
    spec->type = (uint32_t)strtoul(text, NULL, 10);
    return apply_terms(root, unit, terms, 0, spec);
}
