/* Texts that many processes share are stored once: their rows, found or made; and the few largest of many. */
#include "store/saving.h"

#include "base/vec.h"
#include "store/columns.h"

#include <stdlib.h>

enum err rows_open(struct rows *rows, struct store *store, const char *select, const char *insert)
{
    *rows = (struct rows){ .store = store };
    enum err err = db_prepare(store, &rows->select, "look up a text", select);
    return err == OK ? db_prepare(store, &rows->insert, "write a text", insert) : err;
}

void rows_close(struct rows *rows)
{
    statement_free(rows->select);
    statement_free(rows->insert);
    dictionary_clear(&rows->texts);
    free(rows->ids);
}

static bool make_room(struct rows *rows, uint32_t number)
{
    return !array_reserve_zeroed(rows->ids, rows->room, (size_t)number + 1, VEC_MAX);
}

static enum err find_or_make(struct rows *rows, struct bytes text, int64_t *id)
{
    bool found;
    columns_bind_bytes(rows->select, 1, text);
    enum err err = db_step(rows->store, rows->select, "look up a text", &found);
    if (err == OK && found)
        *id = statement_i64(rows->select, 0);
    statement_reset(rows->select);
    if (err != OK || found)
        return err;
    columns_bind_bytes(rows->insert, 1, text);
    err = db_run(rows->store, rows->insert, "write a text");
    *id = db_last_id(rows->store);
    return err;
}

enum err rows_id(struct rows *rows, struct bytes text, int64_t *id)
{
    *id = 0;
    if (!text.size)
        return OK;
    uint32_t number = dictionary_add(&rows->texts, text);
    if (number == DICTIONARY_NONE || !make_room(rows, number))
        return NOMEM;
    if (!rows->ids[number]) {
        enum err err = find_or_make(rows, text, &rows->ids[number]);
        if (err != OK)
            return err;
    }
    *id = rows->ids[number];
    return OK;
}

void top_offer(struct top *top, uint64_t value, uint32_t a, uint32_t b)
{
    if (top->count == TOP_MAX && value <= top->items[TOP_MAX - 1].value)
        return;
    size_t at = top->count < TOP_MAX ? top->count++ : TOP_MAX - 1;
    for (; at > 0 && top->items[at - 1].value < value; at--)
        top->items[at] = top->items[at - 1];
    top->items[at].value = value;
    top->items[at].a = a;
    top->items[at].b = b;
}
