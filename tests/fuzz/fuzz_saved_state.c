/* A file of saved state with any bytes: it is read as far as possible, and the registry stays valid; what is written then is read
 * completely. */
#include "appmetrics/saved_state.h"
#include "compat/tau/alias.h"

#include <stdlib.h>
#include <string.h>

int fuzz_saved_state(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void on_segment(void *context, const char *name, uint64_t inode)
{
    size_t *count = context;
    (void)inode;
    require(*name);
    (*count)++;
}

/* After a valid beginning, so that the rest is reached. */
int fuzz_saved_state(const uint8_t *data, size_t size)
{
    struct registry *registry, *other;
    struct registry_settings settings = { .host = "n", .metrics_max = 100, .is_by_user = true, .aliases = tau_alias_list };
    struct buf file;
    struct baselines baselines = { NULL };
    size_t segments = 0;
    if (size > 1u << 20)
        return 0;
    require(!registry_open(&registry, &settings));
    require(!registry_open(&other, &settings));
    buf_init(&file, 64u << 20);
    saved_state_begin(&file);
    buf_add(&file, data, size);
    saved_state_read(registry, (struct bytes){ file.data, file.size }, &baselines, on_segment, &segments);
    require(segments <= size);
    buf_reset(&file);
    saved_state_begin(&file);
    saved_state_write_jobs(registry, &file);
    baselines_write_all(&file, &baselines);
    baselines_write_end(&file);
    baselines_write_all_ranks(&file, &baselines);
    baselines_write_end(&file);
    saved_state_write_ranks(registry, &file);
    baselines_clear(&baselines);
    require(saved_state_read(other, (struct bytes){ file.data, file.size }, &baselines, on_segment, &segments) == OK);
    baselines_clear(&baselines);
    buf_clear(&file);
    registry_close(&registry);
    registry_close(&other);
    return 0;
}
