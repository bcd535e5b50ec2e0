/* Sums and differences of counters. */
#include "model/counters.h"

const struct metric counters_metrics[COUNTERS_SIZE] = {
#define X(name, kind, unit, help) { #name, unit, kind, U64, help },
    COUNTERS_LIST(X)
#undef X
};

static const uint64_t gauges = 0
#define X(name, kind, unit, help) | (uint64_t)(kind == GAUGE) << COUNTER_##name
    COUNTERS_LIST(X)
#undef X
    ;

/* For each bit that is set in bits. */
#define EACH(i, bits) (uint64_t rest = (bits), i; rest && (i = (uint64_t)__builtin_ctzll(rest), true); rest &= rest - 1)

void counters_add(struct counters *sum, const struct counters *part)
{
    for EACH(i, part->known & ~sum->known)
        sum->value[i] = part->value[i];
    for EACH(i, part->known & sum->known & ~gauges)
        sum->value[i] += part->value[i];
    for EACH(i, part->known & sum->known & gauges)
        if (sum->value[i] < part->value[i])
            sum->value[i] = part->value[i];
    sum->known |= part->known;
}

void counters_subtract(struct counters *minuend, const struct counters *subtrahend)
{
    for EACH(i, minuend->known & subtrahend->known & ~gauges)
        minuend->value[i] = minuend->value[i] > subtrahend->value[i] ? minuend->value[i] - subtrahend->value[i] : 0;
}

void counters_fill(struct counters *c, const struct counters *other)
{
    for EACH(i, other->known & ~c->known)
        c->value[i] = other->value[i];
    c->known |= other->known;
}
