/* Formats and parses names of ranks. */
#include "model/rank_name.h"

#include "base/scan.h"

#include <stdio.h>

struct format_text rank_name_string(struct rank_name name)
{
    struct format_text text;
    int size = snprintf(text.s, sizeof text.s, "%u", name.rank);
    if (name.program > 1)
        size += snprintf(text.s + size, sizeof text.s - (size_t)size, "#%u", name.program);
    if (name.world)
        snprintf(text.s + size, sizeof text.s - (size_t)size, "@%u", name.world);
    return text;
}

/* scan_u64 would skip spaces. */
static bool read_number(const char **at, uint32_t *number)
{
    uint64_t value;
    if (**at < '0' || **at > '9' || !scan_u64(at, &value) || value > INT32_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

bool rank_name_read(const char **at, struct rank_name *name)
{
    *name = (struct rank_name){ .program = 1 };
    if (!read_number(at, &name->rank))
        return false;
    if (**at == '#' && (++*at, !read_number(at, &name->program)))
        return false;
    return **at != '@' || (++*at, read_number(at, &name->world));
}

struct format_text rank_name_world(struct rank_name name)
{
    struct format_text text = { "" };
    int size = name.program > 1 ? snprintf(text.s, sizeof text.s, "program %u", name.program) : 0;
    if (name.world)
        snprintf(text.s + size, sizeof text.s - (size_t)size, "%sworld %u", size ? ", " : "", name.world);
    return text;
}

struct format_text rank_name_format(struct rank_name name)
{
    struct format_text text, world = rank_name_world(name);
    int size = snprintf(text.s, sizeof text.s, "%u", name.rank);
    if (*world.s)
        snprintf(text.s + size, sizeof text.s - (size_t)size, " of %.27s", world.s);
    return text;
}

int rank_name_compare(struct rank_name one, struct rank_name other)
{
    if (one.program != other.program)
        return one.program < other.program ? -1 : 1;
    if (one.world != other.world)
        return one.world < other.world ? -1 : 1;
    return (one.rank > other.rank) - (one.rank < other.rank);
}
