/* Identifies the MPI program without communication: a rank without the probe would not answer. */
#include "probe/mpi/world.h"

#include "base/hash.h"
#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARENTS = 16, STAT_MAX = 512, LAUNCH_BITS = 16 };

/* starts the ranks of a node and remains their parent, or the parent of a shell in between */
#define MPICH_PROXY "hydra_pmi_proxy"

/* Never 0, which means "start". */
static uint64_t mix(uint64_t hash, const char *text, size_t size)
{
    hash = hash_add(hash ? hash : HASH_START, text, size);
    return hash ? hash : 1;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 20;
}

uint32_t world_of_namespace(const char *space)
{
    const char *behind = strrchr(space, '@');
    if (!behind && !is_number(space))
        return 0;
    uint64_t number = strtoull(behind ? behind + 1 : space, NULL, 10);
    number = behind ? number : number & ((1u << LAUNCH_BITS) - 1);
    return number > 1 && number <= UINT32_MAX ? (uint32_t)number - 1 : 0;
}

/* The part that all worlds of one launcher share. */
static uint64_t program_of_namespace(const char *space)
{
    const char *behind = strrchr(space, '@');
    char launcher[24];
    if (behind || !is_number(space))
        return mix(0, space, behind ? (size_t)(behind - space) : strlen(space));
    int size = snprintf(launcher, sizeof launcher, "%llu", strtoull(space, NULL, 10) >> LAUNCH_BITS);
    return mix(0, launcher, (size_t)size);
}

/* Fields 4 (parent) and 22 (start time) of /proc/PID/stat; the name, field 2, may contain blanks and parentheses. */
struct ancestor {
    long parent;
    char start[24];
    bool is_proxy;
};

static bool read_ancestor(long pid, struct ancestor *ancestor)
{
    char path[40], text[STAT_MAX];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int fd = sys_open(AT_FDCWD, path, O_RDONLY);
    long got = fd < 0 ? 0 : sys_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *name = strchr(text, '('), *at = strrchr(text, ')');
    if (!name || !at)
        return false;
    ancestor->is_proxy = strncmp(name + 1, MPICH_PROXY, strlen(MPICH_PROXY)) == 0;
    ancestor->parent = strlen(at) > 4 ? strtol(at + 4, NULL, 10) : 0;
    for (int blanks = 0; *at && blanks < 20; at++)
        blanks += *at == ' ';
    size_t size = strspn(at, "0123456789");
    size = size < sizeof ancestor->start ? size : sizeof ancestor->start - 1;
    memcpy(ancestor->start, at, size);
    ancestor->start[size] = '\0';
    return true;
}

static uint64_t program_of_process(long pid, const struct ancestor *process)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%ld/%s", pid, process->start);
    return mix(0, text, (size_t)size);
}

/* MPICH: the proxy among our ancestors; without one, the process itself, which was then started alone. */
static uint64_t program_of_ancestors(void)
{
    struct ancestor own = { 0 }, above;
    long pid = sys_getpid();
    if (!read_ancestor(pid, &own))
        return 0;
    above = own;
    for (int i = 0; i < PARENTS && above.parent > 1; i++) {
        long parent = above.parent;
        if (!read_ancestor(parent, &above))
            break;
        if (above.is_proxy)
            return program_of_process(parent, &above);
    }
    return program_of_process(pid, &own);
}

static uint64_t program_of_step(const char *job, const char *step)
{
    return mix(mix(0, job, strlen(job) + 1), step, strlen(step));
}

struct world world_find(bool is_spawned)
{
    const char *space = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    struct world world = { 0, space && is_spawned ? world_of_namespace(space) : 0 };
    if (space && *space)
        world.program = program_of_namespace(space);
    else if (job && step && getenv("PMI_RANK") && !getenv("HYDI_CONTROL_FD"))
        world.program = program_of_step(job, step);
    else
        world.program = program_of_ancestors();
    if (is_spawned && !world.number)
        world.number = 1;
    return world;
}
