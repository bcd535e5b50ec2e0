/* Files a run that never was into a store, for scenes that look at jobs. Usage: fake_job DB [KEY=VALUE]…, keys: job, run, name,
 * user, host, tags, processes, threads, events, samples, start (s since 1970), jobs (so many, a second apart, with -0, -1, …
 * behind their ids). */
#include "store/store.h"
#include "tools/fake_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *word, const char *key, const char **value)
{
    size_t size = strlen(key);
    if (strncmp(word, key, size) != 0 || word[size] != '=')
        return false;
    *value = word + size + 1;
    return true;
}

static unsigned long jobs;

static void take(struct fake_shape *shape, const char *word)
{
    const char *value;
    if (is(word, "jobs", &value))
        jobs = strtoul(value, NULL, 10);
    else if (is(word, "job", &value))
        shape->job_id = shape->run_id = value;
    else if (is(word, "run", &value)) /* behind job */
        shape->run_id = value;
    else if (is(word, "name", &value))
        shape->name = value;
    else if (is(word, "user", &value))
        shape->user = value;
    else if (is(word, "host", &value))
        shape->host = value;
    else if (is(word, "tags", &value))
        shape->tags = value;
    else if (is(word, "processes", &value))
        shape->processes = strtoul(value, NULL, 10);
    else if (is(word, "threads", &value))
        shape->threads = (unsigned)strtoul(value, NULL, 10);
    else if (is(word, "events", &value))
        shape->events = (unsigned)strtoul(value, NULL, 10);
    else if (is(word, "samples", &value))
        shape->samples = strtoul(value, NULL, 10);
    else if (is(word, "start", &value))
        shape->start_ns = strtoull(value, NULL, 10) * 1000000000ull;
    else {
        fprintf(stderr, "fake_job: what is %s?\n", word);
        exit(2);
    }
}

static enum err file_one(struct store *store, const struct fake_shape *shape)
{
    struct fake_run fake = { 0 };
    fake_run_make(&fake, shape);
    enum err err = store_save_run(store, &fake.run);
    fake_run_clear(&fake);
    return err;
}

static enum err file_many(struct store *store, struct fake_shape shape)
{
    char id[256];
    const char *name = shape.job_id ? shape.job_id : "job";
    enum err err = OK;
    shape.job_id = shape.run_id = id;
    for (unsigned long i = 0; i < jobs && !err; i++) {
        snprintf(id, sizeof id, "%s-%lu", name, i);
        shape.start_ns += 1000000000ull;
        err = file_one(store, &shape);
    }
    return err;
}

int main(int argc, char **argv)
{
    struct fake_shape shape = { .processes = 10 };
    struct store *store = NULL;
    char *message = NULL;
    for (int i = 2; i < argc; i++)
        take(&shape, argv[i]);
    enum err err = store_open(&store, argc > 1 ? argv[1] : NULL, STORE_WRITE, &message);
    if (!err)
        err = jobs ? file_many(store, shape) : file_one(store, &shape);
    if (err)
        fprintf(stderr, "fake_job: %s %s\n", err_text(err), message ? message : store ? store_message(store) : "");
    free(message);
    store_close(&store);
    return err ? 1 : 0;
}
