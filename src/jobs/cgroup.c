/* /proc/self/cgroup has the path in each hierarchy ("4:cpu,cpuacct:/job", "0::/job" for v2); /proc/self/mountinfo where
 * the hierarchy is mounted, and which part of it: a container sees a subtree. */
#include "jobs/cgroup.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTINFO_MAX (256 << 10)
#define MEMBERSHIP_MAX (16 << 10)

/* Is word in a comma-separated list that ends at the first character of ends? */
static bool has_word(const char *list, const char *ends, const char *word)
{
    size_t size = strlen(word);
    for (;;) {
        size_t length = strcspn(list, ends);
        const char *comma = memchr(list, ',', length);
        size_t part = comma ? (size_t)(comma - list) : length;
        if (part == size && !memcmp(list, word, size))
            return true;
        if (!comma)
            return false;
        list = comma + 1;
    }
}

static enum err copy_part(const char *from, size_t length, char out[CGROUP_PATH_MAX])
{
    if (length >= CGROUP_PATH_MAX)
        return USAGE;
    memcpy(out, from, length);
    out[length] = '\0';
    if (!strcmp(out, "/"))
        out[0] = '\0';
    return OK;
}

enum err cgroup_parse_membership(const char *text, const char *controller, char path[CGROUP_PATH_MAX])
{
    for (const char *line = text; line; line = scan_next_line(line)) {
        const char *controllers = line + strcspn(line, ":\n");
        if (*controllers++ != ':')
            continue;
        size_t length = strcspn(controllers, ":\n");
        if (controllers[length] != ':')
            continue;
        bool wanted = controller ? has_word(controllers, ":\n", controller) : !strncmp(line, "0::", 3);
        if (wanted)
            return copy_part(controllers + length + 1, strcspn(controllers + length + 1, "\n"), path);
    }
    return ABSENT;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The kernel escapes blank, tab, newline and backslash as \040 and so on. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++) {
        if (in[0] == '\\' && is_octal(in[1]) && is_octal(in[2]) && is_octal(in[3])) {
            *out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

/* The text after the n-th blank of the line; NULL if it has fewer. */
static const char *skip_fields(const char *line, int n)
{
    while (n-- > 0) {
        line += strcspn(line, " \n");
        if (*line++ != ' ')
            return NULL;
    }
    return line;
}

/* Is this line of mountinfo a mount of the hierarchy? After " - ": type, source, options of the file system. */
static bool is_hierarchy(const char *line, const char *controller)
{
    const char *end = line + strcspn(line, "\n"), *dash = strstr(line, " - ");
    if (!dash || dash > end)
        return false;
    const char *type = dash + 3;
    if (!controller)
        return !strncmp(type, "cgroup2 ", 8);
    const char *options = skip_fields(type, 2);
    return !strncmp(type, "cgroup ", 7) && options && has_word(options, " \n", controller);
}

enum err cgroup_parse_mount(const char *text, const char *controller, char mount[CGROUP_PATH_MAX],
                            char mount_root[CGROUP_PATH_MAX])
{
    for (const char *line = text; line; line = scan_next_line(line)) {
        const char *root_field = skip_fields(line, 3), *mount_field = skip_fields(line, 4);
        if (!root_field || !mount_field || !is_hierarchy(line, controller))
            continue;
        enum err err = copy_part(root_field, strcspn(root_field, " \n"), mount_root);
        if (!err)
            err = copy_part(mount_field, strcspn(mount_field, " \n"), mount);
        if (err)
            return err;
        unescape(mount_root);
        unescape(mount);
        return OK;
    }
    return ABSENT;
}

/* The path of the process starts at the top of the hierarchy, but the mount may show only a part of it. A path outside
 * of that part (or "/.." of another namespace) becomes the top of what is visible. */
static void strip_mount_root(char path[CGROUP_PATH_MAX], const char *mount_root)
{
    size_t size = strlen(mount_root);
    if (size && !strncmp(path, mount_root, size) && (path[size] == '/' || !path[size]))
        memmove(path, path + size, strlen(path + size) + 1);
    else if (size || !strncmp(path, "/..", 3))
        path[0] = '\0';
}

static enum err find_mount(const char *root, const char *controller, struct cgroup *cgroup,
                           char mount_root[CGROUP_PATH_MAX])
{
    char *text = malloc(MOUNTINFO_MAX); /* once per run; a node may have hundreds of mounts */
    if (!text)
        return NOMEM;
    enum err err = file_read(root, "/proc/self/mountinfo", text, MOUNTINFO_MAX, NULL);
    if (!err)
        err = cgroup_parse_mount(text, controller, cgroup->mount, mount_root);
    free(text);
    return err;
}

enum err cgroup_find(const char *root, const char *controller, struct cgroup *cgroup)
{
    char text[MEMBERSHIP_MAX], mount_root[CGROUP_PATH_MAX];
    *cgroup = (struct cgroup){ .unified = !controller };
    enum err err = file_read(root, "/proc/self/cgroup", text, sizeof text, NULL);
    if (!err)
        err = cgroup_parse_membership(text, controller, cgroup->path);
    if (!err)
        err = find_mount(root, controller, cgroup, mount_root);
    if (!err)
        strip_mount_root(cgroup->path, mount_root);
    return err;
}

bool cgroup_up(struct cgroup *cgroup)
{
    char *slash = strrchr(cgroup->path, '/');
    if (!cgroup->path[0])
        return false;
    *(slash ? slash : cgroup->path) = '\0';
    return true;
}

enum err cgroup_read(const char *root, const struct cgroup *cgroup, const char *file, char *text, size_t size)
{
    char path[FILE_PATH_MAX + 256];
    int length = snprintf(path, sizeof path, "%s%s/%s", cgroup->mount, cgroup->path, file);
    if (length < 0 || length >= FILE_PATH_MAX)
        return USAGE;
    return file_read_line(root, path, text, size);
}
