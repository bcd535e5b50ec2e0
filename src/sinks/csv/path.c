/* Expands templates such as "%{user}/%{job}/%{host}/%{set}.csv". */
#include "sinks/csv/path.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} placeholders[] = {
    { "user", offsetof(struct csv_path, user) }, { "job", offsetof(struct csv_path, job) },
    { "host", offsetof(struct csv_path, host) }, { "set", offsetof(struct csv_path, set) },
    { "instance", offsetof(struct csv_path, instance) }, { "container", offsetof(struct csv_path, container) },
};
#define PLACEHOLDERS (sizeof placeholders / sizeof placeholders[0])

/* The index of the placeholder "%{name}" at text; PLACEHOLDERS: unknown. *size: its length; 0: not a placeholder. */
static size_t placeholder_at(const char *text, size_t *size)
{
    const char *end = strncmp(text, "%{", 2) == 0 ? strchr(text, '}') : NULL;
    *size = end ? (size_t)(end - text) + 1 : 0;
    for (size_t i = 0; end && i < PLACEHOLDERS; i++)
        if (strlen(placeholders[i].name) == *size - 3 && strncmp(text + 2, placeholders[i].name, *size - 3) == 0)
            return i;
    return PLACEHOLDERS;
}

enum err csv_path_check(const char *template, struct buf *error)
{
    size_t size;
    if (template[0] == '/' || !template[0] || strstr(template, "..") || strchr(template, ' ')
        || template[strlen(template) - 1] == '/') {
        buf_add_text(error, "invalid template (expected a relative path of a file, without spaces and '..')");
        return USAGE;
    }
    for (const char *at = strchr(template, '%'); at; at = strchr(at + 1, '%'))
        if (placeholder_at(at, &size) == PLACEHOLDERS) {
            buf_printf(error,
                       "unknown placeholder %.40s (expected user, job, host, set, instance or container)", at);
            return USAGE;
        }
    return OK;
}

static void add_part(struct buf *path, const char *part)
{
    if (!part || !*part)
        part = "-";
    for (const char *at = part; *at; at++) {
        bool good = isalnum((unsigned char)*at) || strchr("_-+@=,:", *at) || (*at == '.' && at > part);
        buf_add_char(path, good ? *at : '_');
    }
}

void csv_path_add(struct buf *path, const char *template, const struct csv_path *place)
{
    size_t size;
    for (const char *at = template; *at;) {
        size_t index = placeholder_at(at, &size);
        if (index == PLACEHOLDERS) {
            buf_add_char(path, *at++);
            continue;
        }
        add_part(path, *(const char *const *)((const char *)place + placeholders[index].offset));
        at += size;
    }
}

size_t csv_path_user_prefix(const char *template, const struct csv_path *place)
{
    const char *user = strstr(template, "%{user}"), *slash = user ? strchr(user, '/') : NULL;
    char directory[256];
    struct buf path;
    if (!slash || (size_t)(slash - template) >= sizeof directory)
        return 0;
    memcpy(directory, template, (size_t)(slash - template));
    directory[slash - template] = '\0';
    buf_init(&path, 4096);
    csv_path_add(&path, directory, place);
    size_t size = path.size;
    buf_clear(&path);
    return size;
}
