/* What people type: a number, a duration, a time of any bytes is taken or refused; a duration that we print is one that we
 * read. */
#include "base/format.h"

#include "base/clock.h"
#include "base/parse.h"

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
    struct format_text shown = format_duration(ns);
    if (parse_duration(shown.s, &again)) {
        require(ns > UINT64_MAX - 3600 * NS_PER_S); /* rounded up, out of 64 bits */
        return;
    }
    uint64_t off = again > ns ? again - ns : ns - again;
    require(off <= ns / 10 || ns < 1000);
    require(strlen(format_duration_short(ns).s) < sizeof shown.s);
    format_bytes(ns);
    format_bytes_short(ns);
    format_time_iso(ns);
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
    if (parse_u64(text, &value))
        require(value == untouched);
    value = untouched;
    if (parse_time(text, 1763200000ull * NS_PER_S, &value))
        require(value == untouched);
    else
        format_time(value);
    value = untouched;
    if (parse_duration(text, &value))
        require(value == untouched);
    else
        check_round_trip(value);
    free(text);
    return 0;
}
