/* Parses the answer into an array of jobs; jobs of two answers are matched by id and start time. */
#include "api/jobs_client.h"

#include "api/schema.h"
#include "base/vec.h"
#include "net/json_read.h"

#include <stdlib.h>
#include <string.h>

struct jobs_reader {
    struct json_read json;
    struct buf key, text;
};

static bool is(const struct jobs_reader *reader, const char *key)
{
    return strcmp(buf_text(&reader->key), key) == 0;
}

/* Truncates a string that is too long. */
static void read_string(struct jobs_reader *reader, char *text, size_t capacity)
{
    if (!json_read_text(&reader->json, &reader->text))
        return;
    size_t size = strlen(buf_text(&reader->text));
    size = size < capacity ? size : capacity - 1;
    memcpy(text, buf_text(&reader->text), size);
    text[size] = '\0';
}

static size_t figure_of(const struct jobs_reader *reader)
{
    static const char *const names[] = {
#define X(name) #name,
        JOB_FIGURES_LIST(X)
#undef X
    };
    size_t i = 0;
    while (i < JOB_FIGURES_SIZE && !is(reader, names[i]))
        i++;
    return i;
}

/* {"cpu_us": [VALUE, TIME_NS], …} */
static void read_figures(struct jobs_reader *reader, struct jobs_answer_figure *figures)
{
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key)) {
        size_t place = figure_of(reader);
        if (place == JOB_FIGURES_SIZE) {
            json_read_skip(&reader->json);
            continue;
        }
        uint64_t numbers[2] = { 0 };
        size_t count = 0;
        json_read_array(&reader->json);
        while (json_read_more(&reader->json))
            if (count < 2)
                json_read_u64(&reader->json, &numbers[count++]);
            else
                json_read_skip(&reader->json);
        figures[place] = (struct jobs_answer_figure){ .is_known = true, .value = numbers[0], .time_ns = numbers[1] };
    }
}

static void read_job(struct jobs_reader *reader, struct jobs_answer_job *job)
{
    const struct { const char *key; char *text; } strings[] = {
        { API_ID, job->id }, { API_OTHER_ID, job->other_id }, { API_USER, job->user }, { API_SOURCE, job->source },
    };
    const struct { const char *key; uint64_t *number; } numbers[] = {
        { API_START_NS, &job->start_ns }, { API_CORES_MILLI, &job->cores_milli }, { API_MEMORY_BYTES, &job->memory_bytes },
        { API_NODES, &job->nodes },
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (is(reader, strings[i].key)) {
            read_string(reader, strings[i].text, JOBS_ANSWER_STRING_MAX);
            return;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is(reader, numbers[i].key)) {
            json_read_u64(&reader->json, numbers[i].number);
            return;
        }
    if (is(reader, API_CGROUP))
        read_string(reader, job->cgroup, sizeof job->cgroup);
    else if (is(reader, API_FIGURES))
        read_figures(reader, job->figures);
    else
        json_read_skip(&reader->json);
}

static enum err read_jobs(struct jobs_reader *reader, struct jobs_answer *now)
{
    now->has_jobs = json_read_array(&reader->json);
    while (json_read_more(&reader->json)) {
        if (array_reserve(now->jobs, now->capacity, now->count + 1, VEC_MAX))
            return NOMEM;
        struct jobs_answer_job *job = &now->jobs[now->count++];
        *job = (struct jobs_answer_job){ 0 };
        json_read_object(&reader->json);
        while (json_read_key(&reader->json, &reader->key))
            read_job(reader, job);
    }
    return OK;
}

static void read_node(struct jobs_reader *reader, struct jobs_answer *now)
{
    json_read_object(&reader->json);
    while (json_read_key(&reader->json, &reader->key))
        if (is(reader, API_FIGURES))
            read_figures(reader, now->node);
        else
            json_read_skip(&reader->json);
}

static enum err read_field(struct jobs_reader *reader, struct jobs_answer *now)
{
    if (is(reader, API_HOST))
        read_string(reader, now->host, sizeof now->host);
    else if (is(reader, API_TIME_NS))
        json_read_u64(&reader->json, &now->time_ns);
    else if (is(reader, API_NODES))
        json_read_u64(&reader->json, &now->nodes);
    else if (is(reader, API_OTHERS))
        json_read_u64(&reader->json, &now->others);
    else if (is(reader, API_NODE))
        read_node(reader, now);
    else if (is(reader, API_JOBS))
        return read_jobs(reader, now);
    else
        json_read_skip(&reader->json);
    return OK;
}

enum err jobs_client_read(struct jobs_answer *now, const char *text, size_t size)
{
    struct jobs_reader reader;
    enum err err = OK;
    *now = (struct jobs_answer){ 0 };
    buf_init(&reader.key, 4096);
    buf_init(&reader.text, 1u << 16);
    json_read_init(&reader.json, text, size);
    json_read_object(&reader.json);
    while (!err && json_read_key(&reader.json, &reader.key))
        err = read_field(&reader, now);
    if (!err && !json_read_end(&reader.json))
        err = CORRUPT;
    buf_clear(&reader.key);
    buf_clear(&reader.text);
    if (err)
        jobs_client_clear(now);
    return err;
}

void jobs_client_clear(struct jobs_answer *now)
{
    free(now->jobs);
    *now = (struct jobs_answer){ 0 };
}

/* A counter that decreased was reset: no rate this time. */
static void set_rates(struct jobs_answer_figure *now, const struct jobs_answer_figure *before)
{
    for (size_t i = 0; i < JOB_FIGURES_SIZE; i++) {
        if (!now[i].is_known || !before[i].is_known)
            continue;
        if (now[i].time_ns == before[i].time_ns) {
            now[i].has_rate = before[i].has_rate;
            now[i].rate = before[i].rate;
        } else if (now[i].time_ns > before[i].time_ns && now[i].value >= before[i].value) {
            now[i].has_rate = true;
            now[i].rate = (double)(now[i].value - before[i].value) * 1e9 / (double)(now[i].time_ns - before[i].time_ns);
        }
    }
}

/* Jobs are in the same order each time, except for new and ended ones: the search continues after the last match. */
static const struct jobs_answer_job *find(const struct jobs_answer *now, const struct jobs_answer_job *job, size_t *next)
{
    for (size_t n = 0; n < now->count; n++) {
        size_t i = (*next + n) % now->count;
        if (strcmp(now->jobs[i].id, job->id) == 0 && now->jobs[i].start_ns == job->start_ns) {
            *next = i + 1;
            return &now->jobs[i];
        }
    }
    return NULL;
}

void jobs_client_set_rates(struct jobs_answer *now, const struct jobs_answer *before)
{
    size_t next = 0;
    set_rates(now->node, before->node);
    for (size_t i = 0; i < now->count; i++) {
        const struct jobs_answer_job *old = find(before, &now->jobs[i], &next);
        if (old)
            set_rates(now->jobs[i].figures, old->figures);
    }
}
