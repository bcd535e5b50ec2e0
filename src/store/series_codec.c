/* Encodes series column by column: neighbouring values are similar, so their differences are small. The decoder
 * validates everything, because the file may have been written by anyone. */
#include "store/series_codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { PLAIN = 1, ZSTD = 2 };                       /* first byte */
enum { ALL_KNOWN = 0, NONE_KNOWN = 1, BITMAP = 2 }; /* bits 0-1 of a column's first byte */
enum { INTEGERS = 0, DECIMALS = 1, FLOATS = 2 };    /* bits 2-3; bits 4-7: for DECIMALS, the power of ten */

#define SCALE_MAX 6
#define COLUMNS_MAX SET_METRICS_MAX
#define ROWS_MAX 65536u
#define VARINT_MAX 10u
#define COMPRESS_FROM 256u /* bytes: zstd gains nothing on less */
#define COMPRESS_LEVEL 3

static const double scales[SCALE_MAX + 1] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)-(int64_t)(difference >> 63);
}

static uint64_t unzigzag(uint64_t code)
{
    return code >> 1 ^ -(code & 1);
}

static void add_varint(struct buf *out, uint64_t value)
{
    char *to = buf_reserve(out, VARINT_MAX);
    if (!to)
        return;
    for (; value >= 0x80; value >>= 7, out->size++)
        *to++ = (char)(value | 0x80);
    *to = (char)value;
    out->size++;
}

/* One column of the rows to encode. */
struct column {
    const union value *values;
    const uint8_t *known;
    size_t count, stride;
    enum metric_type type;
};

static bool known_at(const struct column *column, size_t row)
{
    return column->known[row * column->stride];
}

static union value value_at(const struct column *column, size_t row)
{
    return column->values[row * column->stride];
}

static unsigned presence(const struct column *column)
{
    size_t known = 0;
    for (size_t row = 0; row < column->count; row++)
        known += known_at(column, row);
    return known == column->count ? ALL_KNOWN : known ? BITMAP : NONE_KNOWN;
}

/* Is the double exactly an integer divided by the scale? */
static bool fits_scale(union value value, double scale)
{
    double scaled = value.f64 * scale;
    if (!(fabs(scaled) < 9007199254740992.0))
        return false;
    union value back = { .f64 = (double)llround(scaled) / scale };
    return back.u64 == value.u64;
}

/* The smallest power of ten that makes all values integers; SCALE_MAX + 1 if there is none. */
static unsigned find_scale(const struct column *column)
{
    unsigned scale = 0;
    for (size_t row = 0; row < column->count; row++)
        while (known_at(column, row) && scale <= SCALE_MAX && !fits_scale(value_at(column, row), scales[scale]))
            scale++;
    for (size_t row = 0; row < column->count && scale <= SCALE_MAX; row++)
        if (known_at(column, row) && !fits_scale(value_at(column, row), scales[scale]))
            return SCALE_MAX + 1;
    return scale;
}

static void add_bitmap(struct buf *out, const struct column *column)
{
    for (size_t row = 0; row < column->count; row += 8) {
        unsigned byte = 0;
        for (size_t bit = 0; bit < 8 && row + bit < column->count; bit++)
            byte |= (unsigned)(known_at(column, row + bit) != 0) << bit;
        buf_add_char(out, (char)byte);
    }
}

static void add_values(struct buf *out, const struct column *column, unsigned coding, unsigned scale)
{
    uint64_t before = 0;
    for (size_t row = 0; row < column->count; row++) {
        if (!known_at(column, row))
            continue;
        union value value = value_at(column, row);
        uint64_t bits = coding == DECIMALS ? (uint64_t)llround(value.f64 * scales[scale]) : value.u64;
        add_varint(out, coding == FLOATS ? __builtin_bswap64(bits ^ before) : zigzag(bits - before));
        before = bits;
    }
}

static void add_column(struct buf *out, const struct column *column)
{
    unsigned scale = column->type == F64 ? find_scale(column) : 0;
    unsigned coding = column->type != F64 ? INTEGERS : scale <= SCALE_MAX ? DECIMALS : FLOATS;
    unsigned known = presence(column);
    scale = coding == DECIMALS ? scale : 0;
    buf_add_char(out, (char)(known | coding << 2 | scale << 4));
    if (known == BITMAP)
        add_bitmap(out, column);
    add_values(out, column, coding, scale);
}

static void add_times(struct buf *out, const uint64_t *times_ns, size_t count)
{
    uint64_t before = 0, step = 0;
    for (size_t row = 0; row < count; row++) {
        uint64_t next_step = times_ns[row] - before;
        add_varint(out, zigzag(next_step - step));
        before = times_ns[row];
        step = row ? next_step : 0;
    }
}

static void add_body(struct buf *body, const struct run_series *series, size_t first, size_t count)
{
    size_t columns = series->set.size;
    add_times(body, series->times_ns + first, count);
    for (size_t i = 0; i < columns; i++) {
        struct column column = { series->values + first * columns + i, series->known + first * columns + i, count,
                                 columns, series->set.metrics[i].type };
        add_column(body, &column);
    }
}

/* Appends the compressed body if it is smaller. */
static bool add_compressed(struct buf *out, const struct buf *body)
{
    size_t bound = ZSTD_compressBound(body->size), before = out->size;
    add_varint(out, body->size);
    char *to = buf_reserve(out, bound);
    size_t size = to ? ZSTD_compress(to, bound, body->data, body->size, COMPRESS_LEVEL) : 0;
    if (!to || ZSTD_isError(size) || size >= body->size) {
        out->size = before;
        return false;
    }
    out->size += size;
    return true;
}

enum err series_encode(struct buf *out, const struct run_series *series, size_t first, size_t count)
{
    struct buf body;
    size_t start = out->size;
    buf_init(&body, SIZE_MAX / 2);
    add_body(&body, series, first, count);
    buf_add_char(out, ZSTD);
    add_varint(out, count);
    add_varint(out, series->set.size);
    if (body.size < COMPRESS_FROM || !add_compressed(out, &body)) {
        if (out->size > start)
            out->data[start] = PLAIN;
        buf_add(out, body.data, body.size);
    }
    bool failed = body.failed || out->failed;
    buf_clear(&body);
    return failed ? NOMEM : OK;
}

/* Input not read yet. bad: it ended too early, or a number had more than 64 bits. */
struct byte_reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t read_varint(struct byte_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        unsigned char byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            reader->bad |= shift == 63 && byte > 1;
            return value;
        }
    }
    reader->bad = true;
    return 0;
}

static void read_times(struct byte_reader *reader, uint64_t *times_ns, size_t rows)
{
    uint64_t before = 0, step = 0;
    for (size_t row = 0; row < rows && !reader->bad; row++) {
        uint64_t next_step = step + unzigzag(read_varint(reader));
        times_ns[row] = before += next_step;
        step = row ? next_step : 0;
    }
}

static void read_known(struct byte_reader *reader, unsigned presence_code, uint8_t *known, size_t rows, size_t stride)
{
    size_t bitmap_size = presence_code == BITMAP ? (rows + 7) / 8 : 0;
    if (presence_code > BITMAP || (size_t)(reader->end - reader->at) < bitmap_size) {
        reader->bad = true;
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        bool bit = presence_code == ALL_KNOWN || (presence_code == BITMAP && reader->at[row / 8] >> row % 8 & 1);
        known[row * stride] = bit;
    }
    reader->at += bitmap_size;
}

static void read_values(struct byte_reader *reader, unsigned mode, union value *values, const uint8_t *known, size_t rows,
                        size_t stride)
{
    unsigned coding = mode >> 2 & 3, scale = mode >> 4;
    uint64_t before = 0;
    if (coding > FLOATS || scale > SCALE_MAX || (scale && coding != DECIMALS))
        reader->bad = true;
    for (size_t row = 0; row < rows && !reader->bad; row++) {
        union value *value = &values[row * stride];
        value->u64 = 0;
        if (!known[row * stride])
            continue;
        uint64_t code = read_varint(reader);
        before = coding == FLOATS ? before ^ __builtin_bswap64(code) : before + unzigzag(code);
        if (coding == DECIMALS)
            value->f64 = (double)(int64_t)before / scales[scale];
        else
            value->u64 = before;
    }
}

static enum err read_body(struct bytes body, size_t rows, size_t columns, uint64_t *times_ns, union value *values,
                          uint8_t *known)
{
    struct byte_reader reader = { (const unsigned char *)body.data, (const unsigned char *)body.data + body.size, false };
    read_times(&reader, times_ns, rows);
    for (size_t i = 0; i < columns && !reader.bad; i++) {
        if (reader.at == reader.end)
            return CORRUPT;
        unsigned mode = *reader.at++;
        read_known(&reader, mode & 3, known + i, rows, columns);
        if (!reader.bad)
            read_values(&reader, mode, values + i, known + i, rows, columns);
    }
    return reader.bad || reader.at != reader.end ? CORRUPT : OK;
}

/* Reads the header of data; body is the rest. */
static enum err read_head(struct bytes data, int *format, size_t *rows, size_t *columns, struct bytes *body)
{
    struct byte_reader reader = { (const unsigned char *)data.data + 1, (const unsigned char *)data.data + data.size, false };
    if (data.size < 3 || (data.data[0] != PLAIN && data.data[0] != ZSTD))
        return CORRUPT;
    uint64_t row_count = read_varint(&reader), column_count = read_varint(&reader);
    if (reader.bad || row_count > ROWS_MAX || column_count > COLUMNS_MAX)
        return CORRUPT;
    *format = (unsigned char)data.data[0];
    *rows = row_count;
    *columns = column_count;
    *body = (struct bytes){ (const char *)reader.at, (size_t)(reader.end - reader.at) };
    return OK;
}

enum err series_measure(struct bytes data, size_t *rows, size_t *columns)
{
    int format;
    struct bytes body;
    return read_head(data, &format, rows, columns, &body);
}

static enum err read_compressed(struct bytes compressed, size_t rows, size_t columns, uint64_t *times_ns,
                                union value *values, uint8_t *known)
{
    struct byte_reader reader = { (const unsigned char *)compressed.data,
                             (const unsigned char *)compressed.data + compressed.size, false };
    uint64_t size = read_varint(&reader);
    uint64_t size_max = rows * VARINT_MAX + columns * (1 + (rows + 7) / 8 + rows * VARINT_MAX);
    if (reader.bad || size > size_max)
        return CORRUPT;
    char *body = malloc(size + 1);
    if (!body)
        return NOMEM;
    size_t got = ZSTD_decompress(body, size, reader.at, (size_t)(reader.end - reader.at));
    enum err err = CORRUPT;
    if (!ZSTD_isError(got) && got == size)
        err = read_body((struct bytes){ body, size }, rows, columns, times_ns, values, known);
    free(body);
    return err;
}

enum err series_decode(struct bytes data, uint64_t *times_ns, union value *values, uint8_t *known)
{
    int format;
    size_t rows, columns;
    struct bytes body;
    enum err err = read_head(data, &format, &rows, &columns, &body);
    if (err != OK)
        return err;
    if (format == PLAIN)
        return read_body(body, rows, columns, times_ns, values, known);
    return read_compressed(body, rows, columns, times_ns, values, known);
}
