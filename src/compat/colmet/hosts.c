/* Memory is reused for the next message. */
#include "compat/colmet/hosts.h"

#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void colmet_hosts_reset(struct colmet_records *records)
{
    records->count = 0;
}

void colmet_hosts_clear(struct colmet_records *records)
{
    for (size_t i = 0; i < records->made; i++) {
        struct colmet_host *host = records->hosts[i];
        for (size_t k = 0; k < host->job_capacity; k++)
            free(host->jobs[k]);
        free(host->jobs);
        free(host->list);
        batch_clear(&host->batch);
        free(host);
    }
    *records = (struct colmet_records){ 0 };
}

/* The name is used as a label, file name and column: letters, digits and a few safe characters only. */
static bool is_name(struct bytes name)
{
    if (name.size == 0 || name.size > COLMET_NAME_SIZE || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] <= ' ' || name.data[i] == '/' || name.data[i] == 0x7f)
            return false;
    return true;
}

static struct colmet_host *next_host(struct colmet_records *records)
{
    if (records->count == records->made) {
        struct colmet_host *host = calloc(1, sizeof *host);
        if (!host)
            return NULL;
        batch_init(&host->batch);
        records->hosts[records->made++] = host;
    }
    struct colmet_host *host = records->hosts[records->count++];
    host->job_count = 0;
    batch_reset(&host->batch);
    return host;
}

struct colmet_host *colmet_hosts_get(struct colmet_records *records, struct bytes name, enum err *err)
{
    *err = is_name(name) ? OK : CORRUPT;
    if (*err)
        return NULL;
    for (size_t i = records->count; i > 0; i--)
        if (bytes_equal(bytes_of(records->hosts[i - 1]->name), name))
            return records->hosts[i - 1];
    *err = FULL;
    struct colmet_host *host = records->count < COLMET_HOSTS_MAX ? next_host(records) : NULL;
    if (!host)
        return NULL;
    *err = OK;
    memcpy(host->name, name.data, name.size);
    host->name[name.size] = '\0';
    return host;
}

static bool grow_jobs(struct colmet_host *host)
{
    if (host->job_count < host->job_capacity)
        return true;
    size_t capacity = host->job_capacity ? host->job_capacity * 2 : 8;
    if (capacity > COLMET_JOBS_MAX)
        return false;
    if (array_resize(host->jobs, capacity) || array_resize(host->list, capacity))
        return false;
    for (size_t i = host->job_capacity; i < capacity; i++, host->job_capacity++) {
        host->jobs[i] = malloc(sizeof **host->jobs);
        if (!host->jobs[i])
            return host->job_count < host->job_capacity;
    }
    return true;
}

const struct colmet_job *colmet_hosts_job(struct colmet_host *host, uint64_t number, bool is_involved)
{
    for (size_t i = host->job_count; i > 0; i--)
        if (host->jobs[i - 1]->number == number) {
            if (is_involved)
                host->jobs[i - 1]->job.source = COLMET_INVOLVED;
            return host->jobs[i - 1];
        }
    if (!grow_jobs(host))
        return NULL;
    struct colmet_job *job = host->jobs[host->job_count];
    job->number = number;
    snprintf(job->id, sizeof job->id, "%llu", (unsigned long long)number);
    job->job = (struct job){ .id = job->id, .other_id = "", .source = is_involved ? COLMET_INVOLVED : COLMET_NOT_INVOLVED,
                             .user = "", .uid = UINT32_MAX, .cgroup = "" };
    host->list[host->job_count++] = &job->job;
    return job;
}

void colmet_hosts_finish(struct colmet_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        struct colmet_host *host = records->hosts[i];
        host->batch.host = host->name;
        host->batch.jobs = host->list;
        host->batch.job_count = host->job_count;
    }
}
