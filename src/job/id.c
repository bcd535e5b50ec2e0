/* Job ids: from the batch system, or made. */
#include "job/id.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const id_variables[] = { "SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID",
                                           "PBS_JOB_ID",   "OAR_JOB_ID",  NULL };
static const char *const name_variables[] = { "SLURM_JOB_NAME", "PBS_JOBNAME", "OAR_JOB_NAME", NULL };

static bool is_plain(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return true;
}

static void take_first(const char *const *variables, const char *(*find)(const void *context, const char *name),
                       const void *context, char out[ID_MAX])
{
    out[0] = '\0';
    for (; *variables; variables++) {
        const char *value = find(context, *variables);
        if (value && *value && strlen(value) < ID_MAX && is_plain(value)) {
            memcpy(out, value, strlen(value) + 1);
            return;
        }
    }
}

void id_from(struct id *id, const char *(*find)(const void *context, const char *name), const void *context)
{
    take_first(id_variables, find, context, id->id);
    take_first(name_variables, find, context, id->name);
}

static const char *find_here(const void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

void id_from_environment(struct id *id)
{
    id_from(id, find_here, NULL);
}

void id_make(uint64_t time_ns, uint32_t pid, char out[ID_MAX])
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    struct tm tm;
    char stamp[32] = "0";
    if (localtime_r(&seconds, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    snprintf(out, ID_MAX, "%s-%u", stamp, pid);
}
