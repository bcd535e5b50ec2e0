/* Keys are collected once and then found at their last position. */
#include "samplers/keyed.h"

#include "base/scan.h"
#include "base/vec.h"
#include "samplers/counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNWANTED UINT16_MAX
#define KEY_MAX 63u /* bytes of a key with its end character */

void keyed_init(struct keyed *keyed, const char *name,
                void (*describe)(struct bytes key, const char *line, struct keyed_description *description))
{
    *keyed = (struct keyed){ .name = name, .describe = describe };
}

void keyed_clear(struct keyed *keyed)
{
    for (size_t i = 0; i < keyed->count; i++)
        free(keyed->strings[i]);
    free(keyed->strings);
    free(keyed->keys);
    free(keyed->names);
    for (struct keyed_set *set = keyed->current, *older; set; set = older) {
        older = set->older;
        free(set);
    }
    *keyed = (struct keyed){ 0 };
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A word starts at a capital after a lower-case letter or digit, and at the last of several capitals: "VmallocTotal",
 * "KReclaimable". */
static bool begins_word(struct bytes key, size_t i)
{
    if (i == 0 || !is_upper(key.data[i]))
        return false;
    char before = key.data[i - 1], after = i + 1 < key.size ? key.data[i + 1] : '\0';
    return is_lower(before) || is_digit(before) || (is_upper(before) && is_lower(after));
}

void keyed_snake_case(struct bytes key, char *name, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < key.size && used + 2 < size; i++) {
        char c = key.data[i];
        bool is_word = is_upper(c) || is_lower(c) || is_digit(c);
        if (used && name[used - 1] != '_' && (!is_word || begins_word(key, i)))
            name[used++] = '_';
        if (is_word && !used && is_digit(c))
            name[used++] = '_';
        if (is_word)
            name[used++] = (char)(is_upper(c) ? c - 'A' + 'a' : c);
    }
    while (used && name[used - 1] == '_')
        used--;
    name[used] = '\0';
}

const char *keyed_skip(const struct keyed_format *format, const char *line)
{
    if (format->prefix) {
        size_t size = strlen(format->prefix);
        if (strncmp(line, format->prefix, size))
            return NULL;
        line += size;
    }
    while (*line == ' ')
        line++;
    return line;
}

size_t keyed_find(const struct keyed *keyed, const char *line, size_t *expected)
{
    size_t count = keyed->count, i = *expected < count ? *expected : 0;
    for (size_t tried = 0; tried < count; tried++, i = i + 1 < count ? i + 1 : 0) {
        const char *name = keyed->names + keyed->keys[i].at;
        if (name[0] == line[0] && !strncmp(line, name, keyed->keys[i].size)) {
            *expected = i + 1;
            return i;
        }
    }
    return KEYED_NONE;
}

static bool has_name(const struct keyed *keyed, const char *name)
{
    for (size_t i = 0; i < keyed->count; i++)
        if (keyed->strings[i] && !strcmp(keyed->strings[i], name))
            return true;
    return false;
}

/* Two keys may have the same snake-case name: the later one gets a number appended. */
static void make_unique(const struct keyed *keyed, char name[KEYED_NAME_MAX])
{
    char first[KEYED_NAME_MAX - 8];
    snprintf(first, sizeof first, "%.*s", (int)sizeof first - 1, name);
    for (unsigned n = 2; has_name(keyed, name); n++)
        snprintf(name, KEYED_NAME_MAX, "%s_%u", first, n);
}

static char *pack_strings(struct bytes key, const struct keyed_description *description)
{
    struct buf strings;
    buf_init(&strings, 1024);
    buf_add(&strings, description->name, strlen(description->name) + 1);
    if (*description->help)
        buf_add_text(&strings, description->help);
    else
        buf_printf(&strings, "%.*s of the kernel", (int)key.size, key.data);
    buf_add_char(&strings, '\0');
    buf_add(&strings, key.data, key.size);
    buf_add_char(&strings, '\0');
    buf_add_text(&strings, description->unit);
    if (!buf_err(&strings))
        return strings.data;
    buf_clear(&strings);
    return NULL;
}

/* Reserves memory for one more key of size bytes. */
static bool grow(struct keyed *keyed, size_t size)
{
    if (array_resize(keyed->names, keyed->names_size + size))
        return false;
    if (keyed->count < keyed->capacity)
        return true;
    size_t capacity = vec_capacity(keyed->capacity, keyed->count + 1, VEC_MAX);
    if (array_resize(keyed->keys, capacity) || array_resize(keyed->strings, capacity))
        return false;
    keyed->capacity = capacity;
    return true;
}

static enum err add_key(struct keyed *keyed, struct bytes key, const char *line)
{
    struct keyed_description description = { .unit = "1", .kind = COUNTER };
    struct bytes bare = { key.data, key.size - 1 };
    keyed_snake_case(bare, description.name, sizeof description.name);
    if (keyed->describe)
        keyed->describe(bare, line, &description);
    bool is_wanted = *description.name;
    if (is_wanted)
        make_unique(keyed, description.name);
    char *strings = is_wanted ? pack_strings(bare, &description) : NULL;
    if ((is_wanted && !strings) || !grow(keyed, key.size)) {
        free(strings);
        return NOMEM;
    }
    keyed->strings[keyed->count] = strings;
    keyed->keys[keyed->count++] = (struct keyed_key){
        .at = (uint32_t)keyed->names_size, .size = (uint8_t)key.size,
        .place = is_wanted ? (uint16_t)keyed->wanted : UNWANTED,
        .is_counter = description.kind == COUNTER, .is_kb = description.is_kb,
    };
    memcpy(keyed->names + keyed->names_size, key.data, key.size);
    keyed->names_size += key.size;
    keyed->wanted += is_wanted;
    return OK;
}

/* The key of a line with its end character; size 0: the line has none. */
static struct bytes key_of(const struct keyed_format *format, const char *line)
{
    struct bytes key = { keyed_skip(format, line), 0 };
    if (!key.data)
        return key;
    size_t size = 0;
    while (size < KEY_MAX && key.data[size] > ' ' && key.data[size] < 0x7f && key.data[size] != format->end)
        size++;
    if (size && size < KEY_MAX && key.data[size] == format->end)
        key.size = size + 1;
    return key;
}

enum err keyed_add_keys(struct keyed *keyed, const struct keyed_format *format, const char *text)
{
    size_t expected = 0, unknown_lines = 0;
    bool is_full = keyed->sets >= KEYED_SETS_MAX;
    keyed->has_new_keys = false;
    for (const char *line = text; line && *line; line = scan_next_line(line)) {
        struct bytes key = key_of(format, line);
        if (key.size && keyed_find(keyed, key.data, &expected) != KEYED_NONE)
            continue;
        if (!key.size || is_full || keyed->count >= KEYED_KEYS_MAX) {
            unknown_lines++;
            continue;
        }
        enum err err = add_key(keyed, key, line);
        if (err)
            return err;
    }
    if (unknown_lines > keyed->unknown_lines)
        keyed->unknown_lines = unknown_lines;
    return OK;
}

static void describe_metric(const char *name, bool is_counter, struct metric *metric)
{
    const char *help = name + strlen(name) + 1, *source = help + strlen(help) + 1;
    *metric = (struct metric){
        .name = name, .unit = source + strlen(source) + 1, .kind = is_counter ? COUNTER : GAUGE, .type = U64,
        .help = help, .source = strcmp(source, name) != 0 ? source : NULL,
    };
}

enum err keyed_make_set(struct keyed *keyed)
{
    if (!keyed->wanted)
        return ABSENT;
    if (keyed->current && keyed->current->set.size == keyed->wanted)
        return OK;
    struct keyed_set *set = calloc(1, sizeof *set + keyed->wanted * sizeof *set->metrics);
    if (!set)
        return NOMEM;
    for (size_t i = 0; i < keyed->count; i++)
        if (keyed->keys[i].place != UNWANTED)
            describe_metric(keyed->strings[i], keyed->keys[i].is_counter, &set->metrics[keyed->keys[i].place]);
    set->set = (struct set){ keyed->name, set->metrics, keyed->wanted, keyed->instances };
    set->older = keyed->current;
    keyed->current = set;
    keyed->sets++;
    return OK;
}

const struct set *keyed_set(const struct keyed *keyed)
{
    return keyed->current ? &keyed->current->set : NULL;
}

enum err keyed_last_reserve(struct keyed_last *last, const struct keyed *keyed)
{
    if (last->size >= keyed->wanted)
        return OK;
    if (array_resize(last->values, keyed->wanted))
        return NOMEM;
    memset(last->values + last->size, 0, (keyed->wanted - last->size) * sizeof *last->values);
    last->size = keyed->wanted;
    return OK;
}

void keyed_last_clear(struct keyed_last *last)
{
    free(last->values);
    *last = (struct keyed_last){ 0 };
}

/* at: after the key. Returns the position after the number, or at. */
static const char *set_number(const struct keyed_key *key, const char *at, struct sample *sample,
                              struct keyed_last *last)
{
    uint64_t value;
    if (key->place >= sample->set->size || sample->known[key->place] || !scan_u64(&at, &value))
        return at;
    if (key->is_kb && __builtin_mul_overflow(value, 1024u, &value))
        return at;
    if (key->is_counter && key->place < last->size)
        counter_set(sample, key->place, value, &last->values[key->place]);
    else
        sample_set_u64(sample, key->place, value);
    return at;
}

void keyed_fill(struct keyed *keyed, const struct keyed_format *format, const char *text, struct sample *sample,
                struct keyed_last *last, size_t *expected)
{
    size_t unknown_lines = 0;
    for (const char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        const char *begin = keyed_skip(format, line);
        size_t place = begin ? keyed_find(keyed, begin, expected) : KEYED_NONE;
        if (place == KEYED_NONE)
            unknown_lines++;
        else
            line = set_number(&keyed->keys[place], begin + keyed->keys[place].size, sample, last);
        end = *line == '\n' ? line : strchr(line, '\n');
    }
    if (unknown_lines > keyed->unknown_lines)
        keyed->has_new_keys = true;
}
