/* A map by name. The file has a line per host: first and last contact, newest sample, missing and lost records,
 * name. */
#include "collector/known_hosts.h"

#include "base/file.h"
#include "base/vec.h"
#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (512u << 20)

void known_hosts_clear(struct known_hosts *known_hosts)
{
    struct map_iterator at = { 0 };
    for (struct known_host *known_host; (known_host = known_hosts_next(known_hosts, &at));) {
        free(known_host->host);
        free(known_host);
    }
    map_clear(&known_hosts->map);
}

static bool is_named(const void *item, const void *name)
{
    return bytes_equal(bytes_of(((const struct known_host *)item)->host), *(const struct bytes *)name);
}

struct known_host *known_hosts_find(const struct known_hosts *known_hosts, struct bytes host)
{
    return map_find(&known_hosts->map, map_hash(0, host.data, host.size), is_named, &host);
}

enum err known_hosts_get(struct known_hosts *known_hosts, struct bytes host, struct known_host **known_host)
{
    *known_host = known_hosts_find(known_hosts, host);
    if (*known_host)
        return OK;
    struct known_host *new = calloc(1, sizeof *new);
    char *name = strndup(host.data, host.size);
    enum err err = new && name ? map_add(&known_hosts->map, map_hash(0, host.data, host.size), new, KNOWN_HOSTS_MAX) : NOMEM;
    if (err) {
        free(new);
        free(name);
        return err;
    }
    new->host = name;
    *known_host = new;
    return OK;
}

struct known_host *known_hosts_next(const struct known_hosts *known_hosts, struct map_iterator *at)
{
    return map_next(&known_hosts->map, at);
}

static int by_host(const void *a, const void *b)
{
    return strcmp((*(struct known_host *const *)a)->host, (*(struct known_host *const *)b)->host);
}

struct known_host **known_hosts_sorted(const struct known_hosts *known_hosts)
{
    struct known_host **list = calloc(known_hosts->map.count + 1, sizeof *list);
    struct map_iterator at = { 0 };
    for (size_t i = 0; list && i < known_hosts->map.count; i++)
        list[i] = known_hosts_next(known_hosts, &at);
    if (list)
        qsort(list, known_hosts->map.count, sizeof *list, by_host);
    return list;
}

bool known_host_is_silent(const struct known_host *known_host, uint64_t now_ns)
{
    uint64_t limit_ns = 3 * known_host->interval_ns > KNOWN_HOST_SILENT_NS ? 3 * known_host->interval_ns
                        : KNOWN_HOST_SILENT_NS;
    return now_ns > known_host->last_received_ns && now_ns - known_host->last_received_ns > limit_ns;
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

enum err known_hosts_save(const struct known_hosts *known_hosts, const char *path)
{
    char new_path[FILE_PATH_MAX];
    struct buf text;
    struct map_iterator at = { 0 };
    const struct known_host *known_host;
    if (snprintf(new_path, sizeof new_path, "%s.new", path) >= (int)sizeof new_path)
        return USAGE;
    buf_init(&text, FILE_MAX);
    while ((known_host = known_hosts_next(known_hosts, &at)))
        buf_printf(&text, "%llu %llu %llu %llu %llu %s\n", (unsigned long long)known_host->first_ns,
                   (unsigned long long)known_host->last_received_ns, (unsigned long long)known_host->sample_ns,
                   (unsigned long long)known_host->missing, (unsigned long long)known_host->lost, known_host->host);
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

static void load_line(struct known_hosts *known_hosts, char *line)
{
    uint64_t numbers[5];
    struct known_host *known_host;
    for (size_t i = 0; i < 5; i++)
        numbers[i] = read_number(&line);
    if (!*line || !numbers[0] || known_hosts_get(known_hosts, bytes_of(line), &known_host))
        return;
    known_host->first_ns = numbers[0];
    known_host->last_received_ns = numbers[1];
    known_host->sample_ns = numbers[2];
    known_host->missing = numbers[3];
    known_host->lost = numbers[4];
}

enum err known_hosts_load(struct known_hosts *known_hosts, const char *path)
{
    size_t got = 0, size = 1u << 20;
    char *text = NULL;
    enum err err;
    do { /* st_size is not reliable for a file that is being written */
        if (array_resize(text, size)) {
            free(text);
            return NOMEM;
        }
        err = file_read("", path, text, size, &got);
        size *= 4;
    } while (!err && got == size / 4 - 1 && size <= FILE_MAX);
    for (char *line = text, *next; !err && line && *line; line = next) {
        next = strchr(line, '\n');
        if (!next)
            break;
        *next++ = '\0';
        load_line(known_hosts, line);
    }
    free(text);
    return err;
}

/* A host name becomes a label, a file name, a column: reject anything ambiguous. */
bool known_hosts_is_name(struct bytes name)
{
    if (name.size == 0 || name.size >= JOURNAL_HOST_MAX || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] <= ' ' || name.data[i] == '/' || name.data[i] == 0x7f)
            return false;
    return true;
}
