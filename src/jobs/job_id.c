/* Job ids: from the batch system, or generated. */
#include "jobs/job_id.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define STAMP_SIZE 15 /* size of "20261115-201354" */
#define SUFFIX_SIZE 4
#define ZONE_S 900              /* time zones differ by multiples of this */
#define ZONE_MAX_S (15 * 3600)
#define EARLY_S 2               /* the clock may have been corrected */
#define LATE_S 60               /* from the start of the process to its id, on a busy node */
#define SUFFIX_ALPHABET "0123456789abcdefghjkmnpqrstvwxyz" /* 32 characters, without easily confused ones */

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
                       const void *context, char out[JOB_ID_MAX])
{
    out[0] = '\0';
    for (; *variables; variables++) {
        const char *value = find(context, *variables);
        if (value && *value && strlen(value) < JOB_ID_MAX && is_plain(value)) {
            memcpy(out, value, strlen(value) + 1);
            return;
        }
    }
}

void job_id_from(struct job_id *id, const char *(*find)(const void *context, const char *name), const void *context)
{
    take_first(id_variables, find, context, id->id);
    take_first(name_variables, find, context, id->name);
}

static const char *find_in_own_environment(const void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

void job_id_from_environment(struct job_id *id)
{
    job_id_from(id, find_in_own_environment, NULL);
}

static void make_suffix(char out[SUFFIX_SIZE + 1])
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = (clock_realtime_ns() ^ clock_monotonic_ns()) * 0x9e3779b97f4a7c15ull >> 32;
    for (size_t i = 0; i < SUFFIX_SIZE; i++, random >>= 5)
        out[i] = SUFFIX_ALPHABET[random & 31];
    out[SUFFIX_SIZE] = '\0';
}

void job_id_generate(uint64_t time_ns, uint32_t pid, char out[JOB_ID_MAX])
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    struct tm tm;
    char stamp[32] = "0", suffix[SUFFIX_SIZE + 1];
    if (localtime_r(&seconds, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    make_suffix(suffix);
    snprintf(out, JOB_ID_MAX, "%s-%u-%s", stamp, pid, suffix);
}

bool job_id_is_generated(const char *id, uint32_t pid)
{
    char of_pid[16];
    size_t size = (size_t)snprintf(of_pid, sizeof of_pid, "-%u-", pid);
    return strlen(id) == STAMP_SIZE + size + SUFFIX_SIZE && strspn(id, "0123456789") == 8 && id[8] == '-'
           && strspn(id + 9, "0123456789") == 6 && !memcmp(id + STAMP_SIZE, of_pid, size)
           && strspn(id + STAMP_SIZE + size, SUFFIX_ALPHABET) == SUFFIX_SIZE;
}

bool job_id_is_of_time(const char *id, uint64_t start_ns)
{
    struct tm tm = { 0 };
    if (!strptime(id, "%Y%m%d-%H%M%S", &tm))
        return false;
    int64_t apart_s = (int64_t)timegm(&tm) - (int64_t)(start_ns / NS_PER_S) + EARLY_S;
    int64_t after_s = (apart_s % ZONE_S + ZONE_S) % ZONE_S;
    return apart_s > -ZONE_MAX_S && apart_s < ZONE_MAX_S && after_s <= EARLY_S + LATE_S;
}
