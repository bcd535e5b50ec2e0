/* Fills a struct tau_job from the environment and the clock. */
#include "compat/commands/tau_job.h"

#include "base/clock.h"
#include "base/parse.h"
#include "jobs/job_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *first_of(const char *a, const char *b)
{
    const char *value = getenv(a);
    if (!value || !*value)
        value = b ? getenv(b) : NULL;
    return value ? value : "";
}

/* Slurm's job id with the step, as tau reports it; PMIx's without the rank; else that of OAR or PBS. */
static void put_id(struct tau_job *job)
{
    struct job_id id;
    const char *value = first_of("SLURM_JOBID", "SLURM_JOB_ID"), *step = first_of("SLURM_STEP_ID", NULL);
    if (!*value)
        value = first_of("PMIX_ID", NULL);
    if (*value) {
        snprintf(job->id, sizeof job->id, "%.50s%s%.10s", value, *step ? "-" : "", step);
        job->id[strcspn(job->id, ".")] = '\0';
        return;
    }
    job_id_from_environment(&id);
    snprintf(job->id, sizeof job->id, "%.63s", id.id);
}

static void put_command(struct tau_job *job, char *const *args)
{
    size_t used = 0;
    for (; *args && used + 1 < sizeof job->command; args++) {
        int size = snprintf(job->command + used, sizeof job->command - used, "%s%s", used ? " " : "", *args);
        used += size > 0 ? (size_t)size : 0; /* the last word may be truncated */
    }
}

static int32_t ranks(void)
{
    static const char *const names[] = { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE" };
    uint64_t number;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!parse_u64(first_of(names[i], NULL), &number) && number && number <= INT32_MAX)
            return (int32_t)number;
    return -1;
}

void tau_job_from_environment(struct tau_job *job, char *const *command)
{
    *job = (struct tau_job){ .size = ranks(), .start_s = clock_realtime_ns() / NS_PER_S };
    job->end_s = job->start_s;
    put_id(job);
    put_command(job, command);
    snprintf(job->nodelist, sizeof job->nodelist, "%s", first_of("SLURM_JOB_NODELIST", NULL));
    snprintf(job->partition, sizeof job->partition, "%s", first_of("SLURM_JOB_PARTITION", NULL));
    snprintf(job->cluster, sizeof job->cluster, "%s", first_of("SLURM_CLUSTER_NAME", NULL));
    char *directory = getcwd(NULL, 0);
    snprintf(job->run_dir, sizeof job->run_dir, "%s", directory ? directory : "");
    free(directory);
}
