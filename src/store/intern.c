/* Strings that many processes share are stored once: finds or inserts their rows. Also the list of the largest few of
 * many. */
#include "store/save.h"

#include "base/vec.h"
#include "store/columns.h"

#include <stdlib.h>

enum err intern_open(struct intern *intern, struct store *store, const char *select, const char *insert)
{
    *intern = (struct intern){ .store = store };
    enum err err = db_prepare(store, &intern->select, "look up a string", select);
    return err == OK ? db_prepare(store, &intern->insert, "save a string", insert) : err;
}

void intern_close(struct intern *intern)
{
    statement_free(intern->select);
    statement_free(intern->insert);
    dictionary_clear(&intern->strings);
    free(intern->ids);
}

static bool reserve(struct intern *intern, uint32_t number)
{
    return !array_reserve_zeroed(intern->ids, intern->capacity, (size_t)number + 1, VEC_MAX);
}

static enum err find_or_insert(struct intern *intern, struct bytes text, int64_t *id)
{
    bool found;
    columns_bind_bytes(intern->select, 1, text);
    enum err err = db_step(intern->store, intern->select, "look up a string", &found);
    if (err == OK && found)
        *id = statement_i64(intern->select, 0);
    statement_reset(intern->select);
    if (err != OK || found)
        return err;
    columns_bind_bytes(intern->insert, 1, text);
    err = db_run(intern->store, intern->insert, "save a string");
    *id = db_last_id(intern->store);
    return err;
}

enum err intern_id(struct intern *intern, struct bytes text, int64_t *id)
{
    *id = 0;
    if (!text.size)
        return OK;
    uint32_t number = dictionary_add(&intern->strings, text);
    if (number == DICTIONARY_NONE || !reserve(intern, number))
        return NOMEM;
    if (!intern->ids[number]) {
        enum err err = find_or_insert(intern, text, &intern->ids[number]);
        if (err != OK)
            return err;
    }
    *id = intern->ids[number];
    return OK;
}

void top_list_offer(struct top_list *top, uint64_t value, uint32_t a, uint32_t b)
{
    if (top->count == TOP_LIST_MAX && value <= top->items[TOP_LIST_MAX - 1].value)
        return;
    size_t at = top->count < TOP_LIST_MAX ? top->count++ : TOP_LIST_MAX - 1;
    for (; at > 0 && top->items[at - 1].value < value; at--)
        top->items[at] = top->items[at - 1];
    top->items[at].value = value;
    top->items[at].a = a;
    top->items[at].b = b;
}
