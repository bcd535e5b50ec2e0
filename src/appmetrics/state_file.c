/* A file beside the boards. */
#include "appmetrics/state_file.h"

#include "base/clock.h"
#include "base/state_file.h"
#include "base/log.h"

#include <unistd.h>

#define RARELY 20u

static void hear_nothing(void *context, const char *name, uint64_t inode)
{
    (void)context, (void)name, (void)inode;
}

void program_keeper_read(struct program_keeper *keeper, const struct program_keeper_boards *boards)
{
    struct program_table *table = keeper->table;
    struct program_bases none = { 0 };
    struct buf file;
    if (!*keeper->path || table->has_read_kept)
        return;
    table->has_read_kept = true;
    buf_init(&file, KEEP_MAX + 1);
    if (!keep_read(keeper->path, &file)) {
        struct bytes bytes = { file.data, file.size };
        program_table_lock(table);
        if (program_kept_take(table, bytes, boards ? boards->bases : &none, boards ? boards->hear : hear_nothing,
                              boards ? boards->context : NULL) == CORRUPT)
            log_warn("%s is damaged: sums of jobs may lack what programs had counted that have gone", keeper->path);
        program_table_unlock(table);
    }
    program_bases_clear(&none);
    buf_clear(&file);
}

/* False: there is nothing to keep. */
static bool fill(const struct program_keeper *keeper, const struct program_keeper_boards *boards, struct buf *file)
{
    program_kept_begin(file);
    if (boards)
        boards->add(boards->context, file);
    program_table_lock(keeper->table);
    bool has_any = program_kept_end(keeper->table, file);
    if (boards)
        has_any |= boards->add_bases(boards->context, file);
    program_bases_end(file);
    if (boards)
        has_any |= boards->add_rank_bases(boards->context, file);
    program_bases_end(file);
    has_any |= program_kept_ranks(keeper->table, file);
    program_table_unlock(keeper->table);
    return has_any;
}

static void write_file(struct program_keeper *keeper, const struct program_keeper_boards *boards)
{
    struct buf file;
    buf_init(&file, KEEP_MAX);
    enum err err = OK;
    if (fill(keeper, boards, &file))
        err = keep_write(keeper->path, &file);
    else
        unlink(keeper->path);
    if (err && !keeper->cannot_write)
        log_warn("what programs have counted in jobs is lost when this agent ends: cannot write %s: %s", keeper->path,
                 err_text(err));
    keeper->cannot_write = err != OK;
    buf_clear(&file);
    if (!err)
        return;
    program_table_lock(keeper->table);
    keeper->table->has_news_to_keep = true; /* there may be room again, and nobody may count any more */
    program_table_unlock(keeper->table);
}

bool program_keeper_write(struct program_keeper *keeper, const struct program_keeper_boards *boards, bool is_last)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (!*keeper->path)
        return true;
    program_table_lock(keeper->table);
    bool has_news = keeper->table->has_news_to_keep;
    program_table_unlock(keeper->table);
    if (!has_news)
        return true;
    if (begin_ns < keeper->next_ns && !is_last)
        return false;
    write_file(keeper, boards);
    uint64_t end_ns = clock_monotonic_ns();
    keeper->next_ns = end_ns + RARELY * (end_ns - begin_ns);
    return true;
}
