/* Searches /proc for slurmd once, when the agent starts. */
#include "jobs/slurm_node.h"

#include "base/file.h"
#include "jobs/cgroup_path.h"
#include "proc/pid.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CMDLINE_MAX 4096
#define WITH_ARGUMENT "dfLn" /* other options of slurmd that have one */

/* The next argument; NULL: there is none. */
static const char *next_argument(const char *at, const char *end)
{
    const char *nul = memchr(at, '\0', (size_t)(end - at));
    return nul && nul + 1 < end ? nul + 1 : NULL;
}

/* Options without arguments may precede it: "-DvN c1", "-Nc1". */
static const char *find_value(const char *argument, const char *end)
{
    if (argument[0] != '-' || argument[1] == '-')
        return NULL;
    for (const char *letter = argument + 1; *letter && !strchr(WITH_ARGUMENT, *letter); letter++)
        if (*letter == 'N')
            return letter[1] ? letter + 1 : next_argument(letter, end);
    return NULL;
}

bool slurm_node_parse(const char *cmdline, size_t size, char name[JOB_SOURCE_NAME_MAX])
{
    const char *end = cmdline + size, *value = NULL;
    if (!size || end[-1] != '\0')
        return false;
    const char *slash = strrchr(cmdline, '/');
    if (strcmp(slash ? slash + 1 : cmdline, "slurmd") != 0)
        return false;
    for (const char *at = next_argument(cmdline, end); at && !value; at = next_argument(at, end))
        value = find_value(at, end);
    return value && *value && cgroup_path_copy(bytes_of(value), name, JOB_SOURCE_NAME_MAX);
}

static void add(struct slurm_nodes *nodes, const char *name)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (!strcmp(nodes->names[i], name))
            return;
    if (nodes->count < SLURM_NODES_MAX)
        memcpy(nodes->names[nodes->count++], name, strlen(name) + 1);
}

/* Any user can start a program of that name. */
static bool is_trusted(const char *root, const char *pid)
{
    uint32_t uid;
    return !pid_uid(root, (pid_t)strtoul(pid, NULL, 10), &uid) && (uid == 0 || uid == geteuid());
}

static void search(const char *root, struct slurm_nodes *nodes)
{
    char path[FILE_PATH_MAX], text[CMDLINE_MAX], name[JOB_SOURCE_NAME_MAX];
    size_t got;
    DIR *dir = file_path(path, root, "/proc") ? NULL : opendir(path);
    nodes->count = 0;
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", entry->d_name);
        if (!file_read(root, path, text, sizeof text, &got) && slurm_node_parse(text, got, name)
            && is_trusted(root, entry->d_name))
            add(nodes, name);
    }
    closedir(dir);
}

enum err slurm_node_find(const char *root, char node[JOB_SOURCE_NAME_MAX], struct slurm_nodes *nodes)
{
    char host[256];
    const char *given = getenv("SONDE_NODE");
    nodes->count = 0;
    if (!given)
        given = getenv("SLURMD_NODENAME"); /* started by a prolog */
    snprintf(node, JOB_SOURCE_NAME_MAX, "%s", given ? given : "");
    if (given)
        return OK;
    search(root, nodes);
    if (file_read_line(root, "/proc/sys/kernel/hostname", host, sizeof host))
        host[0] = '\0';
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->count == 1 || !strcmp(nodes->names[i], host)) {
            memcpy(node, nodes->names[i], JOB_SOURCE_NAME_MAX);
            return OK;
        }
    return nodes->count ? USAGE : OK;
}
