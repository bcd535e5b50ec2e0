/* Series by series; columns are found by their names, since a store may be older or younger than this program. */
#include "judge/told.h"

#include "model/program_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX (1u << 22)

struct told_text {
    struct told_text *next;
    char text[];
};

static const struct set *const sets[TOLD_SETS] = {
    &program_counter_set, &program_gauge_set, &mpi_set, &mpi_peer_set, &syscall_set, &syscall_time_set,
};

void told_init(struct told *told)
{
    *told = (struct told){ 0 };
    for (size_t i = 0; i < TOLD_SETS; i++) {
        told->tables[i].width = sets[i]->size;
        dictionary_init(&told->tables[i].index);
    }
}

void told_clear(struct told *told)
{
    for (struct told_text *text = told->texts, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    for (size_t i = 0; i < TOLD_SETS; i++) {
        free(told->tables[i].rows);
        free(told->tables[i].values);
        dictionary_clear(&told->tables[i].index);
    }
    *told = (struct told){ 0 };
}

static bool grow(struct told_table *table)
{
    if (table->count < table->room)
        return true;
    size_t room = table->room ? 2 * table->room : 32;
    struct told_row *rows = room <= ROWS_MAX ? reallocarray(table->rows, room, sizeof *rows) : NULL;
    if (rows)
        table->rows = rows;
    double *values = rows ? reallocarray(table->values, room * table->width, sizeof *values) : NULL;
    if (!values)
        return false;
    table->values = values;
    table->room = room;
    return true;
}

/* The row of an instance, made when it is new; NULL: memory ran out. */
static struct told_row *row_of(struct told *told, struct told_table *table, const char *instance)
{
    size_t size = strlen(instance) + 1;
    struct told_text *text = malloc(sizeof *text + size);
    if (!text || !grow(table)) {
        free(text);
        return NULL;
    }
    memcpy(text->text, instance, size);
    uint32_t number = dictionary_add(&table->index, (struct bytes){ text->text, size - 1 });
    if (number != table->count) { /* it is there already, or memory ran out */
        free(text);
        return number == DICTIONARY_NONE ? NULL : &table->rows[number];
    }
    text->next = told->texts;
    told->texts = text;
    table->rows[number] = (struct told_row){ .instance = text->text };
    for (size_t i = 0; i < table->width; i++)
        table->values[number * table->width + i] = NAN;
    table->count++;
    return &table->rows[number];
}

static double number(const struct metric *metric, union value value)
{
    return metric->type == F64 ? value.f64 : metric->type == I64 ? (double)value.i64 : (double)value.u64;
}

/* The last that is known. */
static double last_of(const struct run_series *series, const char *name)
{
    for (size_t column = 0; column < series->set.size; column++) {
        if (strcmp(series->set.metrics[column].name, name) != 0)
            continue;
        for (size_t row = series->count; row-- > 0;) {
            size_t at = row * series->set.size + column;
            if (series->known[at])
                return number(&series->set.metrics[column], series->values[at]);
        }
    }
    return NAN;
}

/* Two series of one rank at the same time are the same rank, seen by an agent and by sonde run; other ones are parts. */
static double combine(double before, double more, bool is_same)
{
    if (isnan(before) || isnan(more))
        return isnan(before) ? more : before;
    return is_same ? fmax(before, more) : before + more;
}

static void take(struct told_table *table, enum told_set set, struct told_row *row, const struct run_series *series)
{
    uint64_t first_ns = series->times_ns[0], last_ns = series->times_ns[series->count - 1];
    bool is_rank = set == TOLD_MPI || set == TOLD_PEER;
    bool is_same = is_rank && row->last_ns && first_ns <= row->last_ns && last_ns >= row->first_ns;
    double *values = &table->values[(size_t)(row - table->rows) * table->width];
    for (size_t i = 0; i < table->width; i++)
        values[i] = combine(values[i], last_of(series, sets[set]->metrics[i].name), is_same);
    if (!row->last_ns || first_ns < row->first_ns)
        row->first_ns = first_ns;
    if (last_ns > row->last_ns)
        row->last_ns = last_ns;
}

enum err told_add(struct told *told, const struct run_series *series)
{
    for (size_t i = 0; i < TOLD_SETS && series->count; i++) {
        if (strcmp(series->set.name, sets[i]->name) != 0)
            continue;
        struct told_row *row = row_of(told, &told->tables[i], series->instance);
        if (!row)
            return NOMEM;
        take(&told->tables[i], (enum told_set)i, row, series);
    }
    return OK;
}

double told_value(const struct told *told, enum told_set set, size_t row, size_t column)
{
    const struct told_table *table = &told->tables[set];
    return table->values[row * table->width + column];
}
