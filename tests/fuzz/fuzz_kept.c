/* A file of kept sums with any bytes: it is taken as far as it goes, into a table that stays whole; what is written of that is
 * taken as a whole. */
#include "appmetrics/saved_state.h"
#include "compat/tau/alias.h"

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
    struct registry *registry, *other;
    struct registry_settings settings = { .host = "n", .metrics_max = 100, .is_by_user = true, .aliases = tau_alias_list };
    struct buf file;
    struct baselines bases = { NULL };
    size_t boards = 0;
    if (size > 1u << 20)
        return 0;
    require(!registry_open(&registry, &settings));
    require(!registry_open(&other, &settings));
    buf_init(&file, 64u << 20);
    saved_state_begin(&file);
    buf_add(&file, data, size);
    saved_state_read(registry, (struct bytes){ file.data, file.size }, &bases, hear, &boards);
    require(boards <= size);
    buf_reset(&file);
    saved_state_begin(&file);
    saved_state_write_jobs(registry, &file);
    baselines_write_all(&file, &bases);
    baselines_write_end(&file);
    baselines_write_all_ranks(&file, &bases);
    baselines_write_end(&file);
    saved_state_write_ranks(registry, &file);
    baselines_clear(&bases);
    require(saved_state_read(other, (struct bytes){ file.data, file.size }, &bases, hear, &boards) == OK);
    baselines_clear(&bases);
    buf_clear(&file);
    registry_close(&registry);
    registry_close(&other);
    return 0;
}
