/* A table by name. The file has a line for each host: first and last heard, newest sample, what is missing and lost, name. */
#include "collector/hosts.h"

#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUCKETS_FIRST 64u
#define FILE_MAX (512u << 20)

static uint32_t hash_of(struct bytes text)
{
    return (uint32_t)hash_add(HASH_START, text.data, text.size);
}

enum err origins_init(struct origins *origins)
{
    *origins = (struct origins){ .bucket_count = BUCKETS_FIRST };
    origins->buckets = calloc(BUCKETS_FIRST, sizeof(struct origin *));
    return origins->buckets ? OK : NOMEM;
}

void origins_clear(struct origins *origins)
{
    for (size_t i = 0; i < origins->bucket_count && origins->buckets; i++)
        for (struct origin *origin = origins->buckets[i], *next; origin; origin = next) {
            next = origin->next;
            free(origin->host);
            free(origin);
        }
    free(origins->buckets);
    *origins = (struct origins){ 0 };
}

static bool is_named(const struct origin *origin, uint32_t hash, struct bytes host)
{
    return origin->hash == hash && bytes_equal(bytes_of(origin->host), host);
}

struct origin *origins_find(const struct origins *origins, struct bytes host)
{
    uint32_t hash = hash_of(host);
    struct origin *origin = origins->buckets[hash & (origins->bucket_count - 1)];
    while (origin && !is_named(origin, hash, host))
        origin = origin->next;
    return origin;
}

static void grow(struct origins *origins)
{
    size_t count = origins->bucket_count * 2;
    struct origin **buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        return; /* slower, not wrong */
    for (size_t i = 0; i < origins->bucket_count; i++)
        for (struct origin *origin = origins->buckets[i], *next; origin; origin = next) {
            next = origin->next;
            origin->next = buckets[origin->hash & (count - 1)];
            buckets[origin->hash & (count - 1)] = origin;
        }
    free(origins->buckets);
    origins->buckets = buckets;
    origins->bucket_count = count;
}

enum err origins_get(struct origins *origins, struct bytes host, struct origin **origin)
{
    *origin = origins_find(origins, host);
    if (*origin)
        return OK;
    if (origins->count >= ORIGINS_MAX)
        return FULL;
    struct origin *new = calloc(1, sizeof *new);
    char *name = strndup(host.data, host.size);
    if (!new || !name) {
        free(new);
        free(name);
        return NOMEM;
    }
    if (origins->count >= origins->bucket_count)
        grow(origins);
    new->host = name;
    new->hash = hash_of(host);
    new->next = origins->buckets[new->hash & (origins->bucket_count - 1)];
    origins->buckets[new->hash & (origins->bucket_count - 1)] = new;
    origins->count++;
    *origin = new;
    return OK;
}

struct origin *origins_next(const struct origins *origins, struct origin_at *at)
{
    at->origin = at->origin ? at->origin->next : NULL;
    while (!at->origin && at->bucket < origins->bucket_count)
        at->origin = origins->buckets[at->bucket++];
    return at->origin;
}

static int by_host(const void *a, const void *b)
{
    return strcmp((*(struct origin *const *)a)->host, (*(struct origin *const *)b)->host);
}

struct origin **origins_sorted(const struct origins *origins)
{
    struct origin **list = calloc(origins->count + 1, sizeof *list);
    struct origin_at at = { 0 };
    for (size_t i = 0; list && i < origins->count; i++)
        list[i] = origins_next(origins, &at);
    if (list)
        qsort(list, origins->count, sizeof *list, by_host);
    return list;
}

bool origin_is_silent(const struct origin *origin, uint64_t now_ns)
{
    uint64_t limit_ns = 3 * origin->interval_ns > ORIGIN_SILENT_NS ? 3 * origin->interval_ns : ORIGIN_SILENT_NS;
    return now_ns > origin->heard_ns && now_ns - origin->heard_ns > limit_ns;
}

static enum err write_all(const char *path, const struct buf *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    bool good = write(fd, buf_text(text), text->size) == (ssize_t)text->size;
    enum err err = good ? OK : FULL;
    return close(fd) == 0 ? err : IO;
}

enum err origins_save(const struct origins *origins, const char *path)
{
    char new_path[FILE_PATH_MAX];
    struct buf text;
    struct origin_at at = { 0 };
    const struct origin *origin;
    if (snprintf(new_path, sizeof new_path, "%s.new", path) >= (int)sizeof new_path)
        return USAGE;
    buf_init(&text, FILE_MAX);
    while ((origin = origins_next(origins, &at)))
        buf_printf(&text, "%llu %llu %llu %llu %llu %s\n", (unsigned long long)origin->first_ns,
                   (unsigned long long)origin->heard_ns, (unsigned long long)origin->sample_ns,
                   (unsigned long long)origin->missing, (unsigned long long)origin->lost, origin->host);
    enum err err = buf_err(&text);
    if (!err)
        err = write_all(new_path, &text);
    if (!err && rename(new_path, path))
        err = err_from_errno(errno);
    buf_clear(&text);
    return err;
}

static uint64_t read_number(char **at)
{
    uint64_t number = strtoull(*at, at, 10);
    *at += **at == ' ';
    return number;
}

static void load_line(struct origins *origins, char *line)
{
    uint64_t numbers[5];
    struct origin *origin;
    for (size_t i = 0; i < 5; i++)
        numbers[i] = read_number(&line);
    if (!*line || !numbers[0] || origins_get(origins, bytes_of(line), &origin))
        return;
    origin->first_ns = numbers[0];
    origin->heard_ns = numbers[1];
    origin->sample_ns = numbers[2];
    origin->missing = numbers[3];
    origin->lost = numbers[4];
}

enum err origins_load(struct origins *origins, const char *path)
{
    size_t got = 0, size = 1u << 20;
    char *text = NULL;
    enum err err;
    do { /* the size of a file that others write is no promise */
        char *larger = realloc(text, size);
        if (!larger) {
            free(text);
            return NOMEM;
        }
        text = larger;
        err = file_read("", path, text, size, &got);
        size *= 4;
    } while (!err && got == size / 4 - 1 && size <= FILE_MAX);
    for (char *line = text, *next; !err && line && *line; line = next) {
        next = strchr(line, '\n');
        if (!next)
            break;
        *next++ = '\0';
        load_line(origins, line);
    }
    free(text);
    return err;
}
