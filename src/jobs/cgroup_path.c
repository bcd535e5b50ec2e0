/* Works on the path in place, without copies. */
#include "jobs/cgroup_path.h"

#include <string.h>

bool cgroup_path_next(const char **at, struct bytes *part)
{
    if (**at != '/')
        return false;
    const char *begin = *at + 1;
    *part = (struct bytes){ begin, strcspn(begin, "/") };
    *at = begin + part->size;
    return part->size > 0;
}

bool cgroup_path_is(struct bytes part, const char *name)
{
    return bytes_equal(part, bytes_of(name));
}

bool cgroup_path_cut_prefix(struct bytes *part, const char *front)
{
    size_t size = strlen(front);
    if (part->size <= size || memcmp(part->data, front, size) != 0)
        return false;
    *part = (struct bytes){ part->data + size, part->size - size };
    return true;
}

bool cgroup_path_cut_suffix(struct bytes *part, const char *back)
{
    size_t size = strlen(back);
    if (part->size <= size || memcmp(part->data + part->size - size, back, size) != 0)
        return false;
    part->size -= size;
    return true;
}

bool cgroup_path_split_last(struct bytes part, char c, struct bytes *before, struct bytes *after)
{
    const char *found = memrchr(part.data, c, part.size);
    if (!found)
        return false;
    size_t size = (size_t)(found - part.data);
    *before = (struct bytes){ part.data, size };
    *after = (struct bytes){ found + 1, part.size - size - 1 };
    return before->size && after->size;
}

bool cgroup_path_number(struct bytes part, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < part.size; i++) {
        char c = part.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(*value, 10u, value)
            || __builtin_add_overflow(*value, (uint64_t)(c - '0'), value))
            return false;
    }
    return part.size > 0;
}

bool cgroup_path_copy(struct bytes part, char *out, size_t size)
{
    if (part.size >= size)
        return false;
    for (size_t i = 0; i < part.size; i++)
        if ((unsigned char)part.data[i] < ' ' || part.data[i] == 0x7f)
            return false;
    if (part.size)
        memcpy(out, part.data, part.size);
    out[part.size] = '\0';
    return true;
}
