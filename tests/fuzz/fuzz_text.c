/* What people type: a number, a duration, a time of any bytes is taken or refused; a duration that we print is one that we
 * read. */
#include "base/text.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

int fuzz_text(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* "2 h 03 min" reads back as itself; only what rounding took may be missing. */
static void check_round_trip(uint64_t ns)
{
    uint64_t again;
    struct text shown = text_duration(ns);
    if (text_parse_duration(shown.s, &again)) {
        require(ns > UINT64_MAX - 3600 * NS_PER_S); /* rounded up, out of 64 bits */
        return;
    }
    uint64_t off = again > ns ? again - ns : ns - again;
    require(off <= ns / 10 || ns < 1000);
    require(strlen(text_duration_short(ns).s) < sizeof shown.s);
    text_bytes(ns);
    text_bytes_short(ns);
    text_time_iso(ns);
}

int fuzz_text(const uint8_t *data, size_t size)
{
    const uint64_t untouched = 0x5a5a5a5a5a5a5a5aull;
    uint64_t value = untouched;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (text_parse_u64(text, &value))
        require(value == untouched);
    value = untouched;
    if (text_parse_time(text, 1763200000ull * NS_PER_S, &value))
        require(value == untouched);
    else
        text_time(value);
    value = untouched;
    if (text_parse_duration(text, &value))
        require(value == untouched);
    else
        check_round_trip(value);
    free(text);
    return 0;
}
