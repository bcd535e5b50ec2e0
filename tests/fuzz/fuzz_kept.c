/* A file of kept sums with any bytes: it is taken as far as it goes, into a table that stays whole; what is written of that is
 * taken as a whole. */
#include "appmetrics/state.h"

#include <stdlib.h>
#include <string.h>

int fuzz_kept(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void hear(void *context, const char *name, uint64_t inode)
{
    size_t *count = context;
    (void)inode;
    require(*name && !strchr(name, '/'));
    (*count)++;
}

/* Behind the right head, so that the rest is reached. */
int fuzz_kept(const uint8_t *data, size_t size)
{
    struct program_table *table, *other;
    struct program_table_settings settings = { .host = "n", .metrics_max = 100, .by_user = true };
    struct buf file;
    struct program_bases bases = { NULL };
    size_t boards = 0;
    if (size > 1u << 20)
        return 0;
    require(!program_table_open(&table, &settings));
    require(!program_table_open(&other, &settings));
    buf_init(&file, 64u << 20);
    program_kept_begin(&file);
    buf_add(&file, data, size);
    program_kept_take(table, (struct bytes){ file.data, file.size }, &bases, hear, &boards);
    require(boards <= size);
    buf_reset(&file);
    program_kept_begin(&file);
    program_kept_end(table, &file);
    program_bases_add_all(&file, &bases);
    program_bases_end(&file);
    program_bases_add_all_ranks(&file, &bases);
    program_bases_end(&file);
    program_kept_ranks(table, &file);
    program_bases_clear(&bases);
    require(program_kept_take(other, (struct bytes){ file.data, file.size }, &bases, hear, &boards) == OK);
    program_bases_clear(&bases);
    buf_clear(&file);
    program_table_close(&table);
    program_table_close(&other);
    return 0;
}
