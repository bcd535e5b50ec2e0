/* spool_dump FILE: the records of a spool as lines of "kind field=value …", for tests and for people who look for
 * mistakes. Texts stand in quotes with \xNN for what is not printable; counters in braces, the known ones only;
 * samples' values and perf counts as lists of numbers. Ends with a line "damaged bytes=N". */
#include "spool/spool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_number(const char *field, uint64_t value)
{
    printf(" %s=%" PRIu64, field, value);
}

static void print_numbers(struct bytes packed)
{
    struct unpacker u = { (const uint8_t *)packed.data, (const uint8_t *)packed.data + packed.size, false };
    const char *blank = "";
    while (u.at < u.end && !u.bad) {
        printf("%s%" PRIu64, blank, unpack_number(&u));
        blank = " ";
    }
}

static void print_quoted(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c >= 0x7f)
            printf("\\x%02x", c);
        else if (c == '"' || c == '\\')
            printf("\\%c", c);
        else
            putchar(c);
    }
}

static void print_text(const char *field, struct bytes text)
{
    bool numbers = strcmp(field, "counts") == 0 || strcmp(field, "values") == 0;
    printf(" %s=%c", field, numbers ? '[' : '"');
    if (numbers)
        print_numbers(text);
    else
        print_quoted(text);
    putchar(numbers ? ']' : '"');
}

static void print_counters(const char *field, struct counters counters)
{
    printf(" %s={", field);
    const char *blank = "";
    for (int i = 0; i < COUNTERS_SIZE; i++) {
        if (!counters_has(&counters, (enum counter)i))
            continue;
        printf("%s%s=%" PRIu64, blank, counters_metrics[i].name, counters.value[i]);
        blank = " ";
    }
    putchar('}');
}

#define FIELD(type, field) print_##type(#field, record.field);
#define X(number, name, fields) \
    static enum err print_##name##_record(struct bytes body) \
    { \
        struct name##_record record; \
        enum err err = record_unpack_##name(body, &record); \
        printf(#name); \
        fields(FIELD) \
        return err; \
    }
RECORD_KINDS(X)
#undef X
#undef FIELD

static enum err print_record(enum record_kind kind, struct bytes body)
{
    switch (kind) {
#define X(number, name, fields) \
    case RECORD_KIND_##name: return print_##name##_record(body);
        RECORD_KINDS(X)
#undef X
    }
    printf("unknown kind=%d size=%zu", (int)kind, body.size);
    return OK;
}

int main(int argc, char **argv)
{
    struct spool_reader reader;
    enum err err = argc == 2 ? spool_open(&reader, argv[1]) : USAGE;
    if (err) {
        fprintf(stderr, "spool_dump: %s: %s\n", argc == 2 ? argv[1] : "usage: spool_dump FILE", err_text(err));
        return 2;
    }
    enum record_kind kind;
    struct bytes body;
    while (spool_next(&reader, &kind, &body) == OK)
        printf("%s\n", print_record(kind, body) ? " corrupt" : "");
    printf("damaged bytes=%" PRIu64 "\n", reader.damaged_bytes);
    spool_close(&reader);
    return 0;
}
