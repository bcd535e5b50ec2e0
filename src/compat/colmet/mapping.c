/* Changes are detected by hashes per host and backend. */
#include "compat/colmet/mapping.h"

#include "base/clock.h"
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPACITY_FIRST 64
#define CSV_MAX 8192

void colmet_mapping_clear(struct colmet_mapping *mapping)
{
    free(mapping->entries);
    *mapping = (struct colmet_mapping){ 0 };
}

static uint64_t key_of(const struct colmet_row *row)
{
    uint64_t key = map_hash_string((uint64_t)row->backend->id, row->host);
    return key ? key : 1;
}

static uint64_t labels_of(const struct colmet_row *row)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < row->backend->count; i++)
        hash = map_hash_string(hash, row->labels[i]);
    return hash;
}

static struct colmet_mapping_entry *place_of(const struct colmet_mapping *mapping, uint64_t key)
{
    size_t at = key & (mapping->capacity - 1);
    while (mapping->entries[at].key && mapping->entries[at].key != key)
        at = (at + 1) & (mapping->capacity - 1);
    return &mapping->entries[at];
}

bool colmet_mapping_is_new(const struct colmet_mapping *mapping, const struct colmet_row *row)
{
    if (!row->labels)
        return false;
    const struct colmet_mapping_entry *entry = mapping->capacity ? place_of(mapping, key_of(row)) : NULL;
    return !entry || !entry->key || entry->labels != labels_of(row);
}

static bool grow(struct colmet_mapping *mapping)
{
    if (mapping->capacity && mapping->count < mapping->capacity / 2)
        return true;
    struct colmet_mapping old = *mapping;
    size_t capacity = old.capacity ? old.capacity * 2 : CAPACITY_FIRST;
    struct colmet_mapping_entry *entries = calloc(capacity, sizeof *entries);
    if (!entries)
        return false;
    mapping->entries = entries;
    mapping->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].key)
            *place_of(mapping, old.entries[i].key) = old.entries[i];
    free(old.entries);
    return true;
}

enum err colmet_mapping_note(struct colmet_mapping *mapping, const struct colmet_row *row)
{
    if (!grow(mapping))
        return NOMEM;
    struct colmet_mapping_entry *entry = place_of(mapping, key_of(row));
    mapping->count += entry->key == 0;
    *entry = (struct colmet_mapping_entry){ key_of(row), labels_of(row) };
    return OK;
}

/* Colmet writes an unused counter in three different ways. */
static void add_line(const struct colmet_row *row, size_t i, struct buf *out)
{
    const char *label = row->labels[i];
    unsigned number = (unsigned)i + 1;
    if (row->backend->id == COLMET_PERFHW)
        buf_printf(out, "counter%u,%s\n", number, label ? label : "no_counter");
    else if (row->backend->id == COLMET_TEMPERATURE)
        buf_printf(out, "counter_%u, %s\n", number, label ? label : "no counter ");
    else
        buf_printf(out, "counter_%u,%s\n", number, label ? label : "no_counter,,");
}

/* Distinguishes a zone that a package lacks from a package that does not exist. */
static bool is_of_a_package(const struct colmet_row *row, size_t i)
{
    size_t first = i / 6 * 6;
    for (size_t k = first; k < first + 6; k++)
        if (row->labels[k])
            return true;
    return false;
}

void colmet_mapping_csv(const struct colmet_row *row, struct buf *out)
{
    for (size_t i = 0; i < row->backend->count; i++)
        if (row->backend->id == COLMET_RAPL && !row->labels[i] && is_of_a_package(row, i))
            buf_printf(out, "counter_%u,counter_not_supported_by_hardware,,\n", (unsigned)i + 1);
        else
            add_line(row, i, out);
}

static bool name_file(const struct colmet_row *row, const char *directory, bool with_host, char path[PATH_MAX])
{
    const char *kind = row->backend->id == COLMET_PERFHW ? "perfhw" : row->backend->id == COLMET_RAPL ? "RAPL" : "temperature";
    char host[256] = "";
    uint64_t now_us = clock_realtime_ns() / NS_PER_US;
    if (with_host)
        snprintf(host, sizeof host, "%.250s/", row->host);
    for (char *slash = host; with_host && (slash = strchr(slash, '/')) && slash[1]; slash++)
        *slash = '_';
    return snprintf(path, PATH_MAX, "%s/%s%s_mapping.%llu.%06llu.csv", directory, host, kind,
                    (unsigned long long)(now_us / 1000000), (unsigned long long)(now_us % 1000000)) < PATH_MAX;
}

static enum err write_text(const char *path, const struct buf *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_from_errno(errno);
    ssize_t done = write(fd, buf_text(text), text->size);
    enum err err = done < 0 ? err_from_errno(errno) : (size_t)done < text->size ? FULL : OK;
    if (close(fd) && !err)
        err = err_from_errno(errno);
    return err;
}

enum err colmet_mapping_write(const struct colmet_row *row, const char *directory, bool with_host)
{
    char path[PATH_MAX];
    struct buf text;
    if ((with_host && (!*row->host || strcmp(row->host, ".") == 0 || strcmp(row->host, "..") == 0))
        || !name_file(row, directory, with_host, path))
        return USAGE;
    if (with_host) {
        char *slash = strrchr(path, '/');
        *slash = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            return err_from_errno(errno);
        *slash = '/';
    }
    buf_init(&text, CSV_MAX);
    colmet_mapping_csv(row, &text);
    enum err err = buf_err(&text) ? buf_err(&text) : write_text(path, &text);
    buf_clear(&text);
    return err;
}
