/* Arbitrary content of /proc/self/cgroup and /proc/self/mountinfo. */
#include "jobs/cgroup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int fuzz_cgroup(const uint8_t *data, size_t size);

static void parse(const char *text, const char *controller)
{
    char path[CGROUP_PATH_MAX], mount[CGROUP_PATH_MAX], root[CGROUP_PATH_MAX];
    if (cgroup_parse_membership(text, controller, path) == OK && strchr(path, '\n'))
        abort();
    if (cgroup_parse_mount(text, controller, mount, root) == OK && strlen(mount) >= CGROUP_PATH_MAX)
        abort();
}

int fuzz_cgroup(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    parse(text, NULL);
    parse(text, "cpu");
    parse(text, "memory");
    free(text);
    return 0;
}
