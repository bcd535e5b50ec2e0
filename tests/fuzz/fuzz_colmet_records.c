/* Any bytes as a message of a Colmet node: the batches are consistent, and can be converted to rows and records. */
#include "compat/colmet/rows.h"
#include "compat/colmet/records.h"

#include <stdlib.h>
#include <string.h>

int fuzz_colmet_records(const uint8_t *data, size_t size);

static void look_at(const struct batch *batch, struct colmet_rows *rows)
{
    const struct colmet_row *list;
    size_t count;
    struct buf out;
    if (!batch->host || !*batch->host || strchr(batch->host, '/') || colmet_rows_make(rows, batch, &list, &count)
        || count > batch->count)
        abort();
    buf_init(&out, 1 << 24);
    for (size_t i = 0; i < count; i++)
        colmet_records_write(&out, list[i].backend, list[i].host, list[i].job, list[i].time_s, list[i].values, list[i].known,
                             "[]");
    buf_clear(&out);
}

int fuzz_colmet_records(const uint8_t *data, size_t size)
{
    struct colmet_records *records;
    struct colmet_rows *rows;
    size_t bad;
    char why[64];
    if (colmet_records_new(&records) || colmet_rows_new(&rows))
        abort();
    enum err err = colmet_records_read(records, (struct bytes){ (const char *)data, size }, &bad, why, sizeof why);
    if ((err == CORRUPT) != (bad && !colmet_records_count(records)) && err != FULL)
        abort();
    for (size_t i = 0; i < colmet_records_count(records); i++)
        look_at(colmet_records_batch(records, i), rows);
    colmet_rows_free(&rows);
    colmet_records_free(&records);
    return 0;
}
