/* fill PATH JOBS PROCESSES-EACH LAST-PROCESSES: fills a job database with generated jobs, the last of which is the largest. */
#include "store/store.h"
#include "tools/fake_run.h"

#include <stdio.h>
#include <stdlib.h>

static enum err file_one(struct store *store, size_t number, size_t processes)
{
    char id[32];
    struct fake_run fake;
    snprintf(id, sizeof id, "job-%zu", number);
    fake_run_make(&fake, &(struct fake_shape){ .processes = processes, .threads = 2, .samples = 60, .run_id = id, .job_id = id });
    enum err err = store_save_run(store, &fake.run);
    fake_run_clear(&fake);
    return err;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: fill PATH JOBS PROCESSES-EACH LAST-PROCESSES\n");
        return 2;
    }
    size_t jobs = strtoul(argv[2], NULL, 10), each = strtoul(argv[3], NULL, 10), last = strtoul(argv[4], NULL, 10);
    struct store *store = NULL;
    char *message = NULL;
    enum err err = store_open(&store, argv[1], STORE_WRITE, &message);
    for (size_t i = 0; i < jobs && err == OK; i++)
        err = file_one(store, i, i + 1 < jobs ? each : last);
    store_close(&store);
    if (err != OK)
        fprintf(stderr, "fill: %s: %s\n", argv[1], message ? message : err_text(err));
    free(message);
    return err != OK;
}
