/* Converts the stored series back to samples, as an agent would have sent them. */
#include "report/export_series.h"

#include <string.h>

#define BATCH_SAMPLES 256

struct series_export {
    const struct export_choice *choice;
    const struct sink *sink;
    void *state;
    struct batch batch;
    size_t found;
};

static enum err add_row(struct series_export *export, const struct run_series *series, size_t row)
{
    size_t size = series->set.size;
    struct sample *sample = batch_add(&export->batch, &series->set, series->times_ns[row], series->instance);
    if (!sample)
        return NOMEM;
    sample->job = export->choice->job ? export->choice->job->job_id : NULL;
    for (size_t i = 0; i < size; i++)
        if (series->known[row * size + i])
            sample_set_u64(sample, i, series->values[row * size + i].u64); /* the same 64 bits for every type */
    return OK;
}

static enum err write_series(void *context, const char *host, const struct run_series *series)
{
    struct series_export *export = context;
    enum err err = OK;
    if (export->choice->set && strcmp(export->choice->set, series->set.name) != 0)
        return OK;
    export->found++;
    export->batch.host = host;
    for (size_t row = 0; row < series->count && !err;) {
        batch_reset(&export->batch);
        for (size_t i = 0; i < BATCH_SAMPLES && row < series->count && !err; i++)
            err = add_row(export, series, row++);
        if (!err)
            err = export->sink->write(export->state, &export->batch);
    }
    return err;
}

enum err export_series(struct store *store, const struct export_choice *choice, const struct sink *sink, void *state,
                       size_t *found)
{
    struct series_export export = { .choice = choice, .sink = sink, .state = state };
    batch_init(&export.batch);
    enum err err = choice->job ? store_series(store, choice->job->row, write_series, &export)
                               : store_node_series(store, choice->node, write_series, &export);
    batch_clear(&export.batch);
    *found = export.found;
    return err;
}
