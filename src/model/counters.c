/* Sums and differences of the numbers of processes and threads. */
#include "model/counters.h"

const struct metric counters_metrics[COUNTERS_SIZE] = {
#define X(name, kind, unit, help) { #name, unit, kind, U64, help },
    COUNTERS_LIST(X)
#undef X
};

void counters_add(struct counters *sum, const struct counters *part)
{
    for (int i = 0; i < COUNTERS_SIZE; i++) {
        if (!counters_has(part, i))
            continue;
        uint64_t old = counters_get(sum, i), more = part->value[i];
        if (counters_metrics[i].kind == GAUGE)
            counters_set(sum, i, old > more ? old : more);
        else
            counters_set(sum, i, old + more);
    }
}

void counters_subtract(struct counters *minuend, const struct counters *subtrahend)
{
    for (int i = 0; i < COUNTERS_SIZE; i++) {
        if (counters_metrics[i].kind == GAUGE || !counters_has(minuend, i) || !counters_has(subtrahend, i))
            continue;
        uint64_t less = subtrahend->value[i];
        minuend->value[i] = minuend->value[i] > less ? minuend->value[i] - less : 0;
    }
}

void counters_fill(struct counters *c, const struct counters *other)
{
    for (int i = 0; i < COUNTERS_SIZE; i++)
        if (!counters_has(c, i) && counters_has(other, i))
            counters_set(c, i, other->value[i]);
}
