/* Reads the tree each time: the caller does so only when a limit was hit, or when something may be removed soon. */
#include "samplers/jobs/oom_kills.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/scan.h"
#include "base/vec.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 3 /* job, step, task; programs may create more below, which batch systems do not */
#define GROUPS_MAX 4096

void oom_kills_clear(struct oom_kills *kills)
{
    free(kills->groups);
    *kills = (struct oom_kills){ 0 };
}

static enum err note(struct oom_kills *kills, const char *directory, uint64_t number)
{
    uint64_t hash = hash_add_text(HASH_START, directory);
    for (size_t i = 0; i < kills->count; i++)
        if (kills->groups[i].hash == hash) {
            if (number > kills->groups[i].kills)
                kills->groups[i].kills = number;
            return OK;
        }
    if (array_reserve(kills->groups, kills->capacity, kills->count + 1, GROUPS_MAX))
        return NOMEM;
    kills->groups[kills->count++] = (struct oom_kills_group){ hash, number };
    return OK;
}

/* Before Linux 4.13 the file has no such line. */
static enum err read_one(struct oom_kills *kills, const char *directory)
{
    char text[256];
    uint64_t number;
    if (file_read(directory, "/memory.oom_control", text, sizeof text, NULL) || !scan_line_u64(text, "oom_kill ", &number))
        return ABSENT;
    return number ? note(kills, directory, number) : OK;
}

static enum err read_tree(struct oom_kills *kills, const char *directory, int depth)
{
    char below[FILE_PATH_MAX];
    enum err err = read_one(kills, directory);
    DIR *dir = !err && depth < DEPTH_MAX ? opendir(directory) : NULL;
    if (!dir)
        return err;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int size = snprintf(below, sizeof below, "%s/%s", directory, entry->d_name);
        if (size > 0 && (size_t)size < sizeof below)
            read_tree(kills, below, depth + 1); /* it may be removed meanwhile */
    }
    closedir(dir);
    return OK;
}

enum err oom_kills_read(struct oom_kills *kills, const char *directory, uint64_t *total)
{
    enum err err = read_tree(kills, directory, 1);
    *total = 0;
    for (size_t i = 0; i < kills->count; i++)
        *total += kills->groups[i].kills;
    return err;
}
