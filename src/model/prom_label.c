/* Label names do not collide with those that Prometheus adds: "instance" is the address of the target. */
#include "model/prom_label.h"

#include "base/utf8.h"

#include <string.h>

static void add_escaped(struct buf *out, const char *value)
{
    struct bytes rest = bytes_of(value);
    while (rest.size) {
        uint32_t code;
        size_t size = utf8_next(rest, &code);
        if (size == 0)
            buf_add_text(out, "\xef\xbf\xbd");
        else if (code == '\\' || code == '"' || code == '\n') {
            buf_add_char(out, '\\');
            buf_add_char(out, code == '\n' ? 'n' : (char)code);
        } else
            buf_add(out, rest.data, size);
        size = size ? size : 1;
        rest = (struct bytes){ rest.data + size, rest.size - size };
    }
}

static bool is_simple(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)value[i] >= 0x80 || value[i] == '"' || value[i] == '\\' || value[i] == '\n')
            return false;
    return true;
}

void prom_label_add(struct buf *out, bool is_first, const char *name, const char *value)
{
    size_t size = strlen(value);
    buf_add_char(out, is_first ? '{' : ',');
    buf_add_text(out, name);
    buf_add(out, "=\"", 2);
    if (is_simple(value, size))
        buf_add(out, value, size);
    else
        add_escaped(out, value);
    buf_add_char(out, '"');
}

static const char *shorten(const char *instance, const char *what)
{
    size_t size = strlen(what);
    if (strncmp(instance, what, size) != 0 || !instance[size])
        return instance;
    return instance[size + strspn(instance + size, "0123456789")] == '\0' ? instance + size : instance;
}

const char *prom_label_instance(const struct set *set, const char *instance, const char **name)
{
    *name = set->instances ? set->instances : "instance_name";
    return shorten(instance, *name);
}

void prom_label_entry(struct buf *out, const struct view_entry *entry)
{
    prom_label_add(out, true, "host", entry->host);
    if (entry->job)
        prom_label_add(out, false, "job", entry->job);
    if (entry->of && *entry->of->user)
        prom_label_add(out, false, "user", entry->of->user);
    if (*entry->instance) {
        const char *what, *value = prom_label_instance(entry->set, entry->instance, &what);
        prom_label_add(out, false, what, value);
    }
    buf_add_char(out, '}');
}
