/* Converts samples to records. */
#include "run/sample_writer.h"

#define VALUES_MAX (SET_METRICS_MAX * 128) /* of one sample, or the strings of one set */

void sample_writer_init(struct sample_writer *out, struct spool_writer *writer)
{
    *out = (struct sample_writer){ .writer = writer };
    buf_init(&out->values, VALUES_MAX);
}

void sample_writer_clear(struct sample_writer *out)
{
    buf_clear(&out->values);
}

static void pack_into(struct buf *buf, uint64_t number)
{
    char *to = buf_reserve(buf, PACK_NUMBER_MAX);
    if (!to)
        return;
    struct packer p = { (uint8_t *)to, (uint8_t *)to + PACK_NUMBER_MAX, false };
    pack_number(&p, number);
    buf->size += (size_t)((char *)p.at - to);
}

static void pack_text_into(struct buf *buf, const char *text)
{
    text = text ? text : "";
    pack_into(buf, strlen(text));
    buf_add_text(buf, text);
}

static void describe(struct sample_writer *out, const struct set *set, size_t number)
{
    buf_reset(&out->values);
    for (size_t i = 0; i < set->size; i++) {
        const struct metric *metric = &set->metrics[i];
        pack_text_into(&out->values, metric->name);
        pack_text_into(&out->values, metric->unit);
        pack_text_into(&out->values, metric->help);
        pack_into(&out->values, metric->kind);
        pack_into(&out->values, metric->type);
    }
    spool_writer_add_set(out->writer, &(struct set_record){
        .set = out->first + number, .name = bytes_of(set->name), .size = set->size,
        .metrics = { out->values.data, out->values.size },
    });
}

static bool is_same(const struct set *a, const struct set *b)
{
    return a->name == b->name && a->metrics == b->metrics && a->size == b->size;
}

/* The number of a set, which is described when first used. SAMPLE_WRITER_SETS_MAX: too many sets. */
static size_t number_of(struct sample_writer *out, const struct set *set)
{
    size_t i = 0;
    while (i < out->set_count && !is_same(&out->sets[i], set))
        i++;
    if (i == out->set_count && i < SAMPLE_WRITER_SETS_MAX) {
        out->sets[out->set_count++] = *set;
        describe(out, set, i);
    }
    return i;
}

static void record_sample(struct sample_writer *out, const struct sample *sample)
{
    size_t number = number_of(out, sample->set);
    if (number == SAMPLE_WRITER_SETS_MAX)
        return;
    buf_reset(&out->values);
    for (size_t i = 0; i < sample->set->size; i++) {
        bool known = !sample->known || sample->known[i];
        pack_into(&out->values, known);
        if (known)
            pack_into(&out->values, sample->values[i].u64);
    }
    spool_writer_add_sample(out->writer, &(struct sample_record){
        .set = out->first + number, .instance = bytes_of(sample->instance), .time_ns = sample->time_ns,
        .values = { out->values.data, out->values.size },
    });
}

void sample_writer_add(struct sample_writer *out, const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        record_sample(out, &batch->samples[i]);
}
