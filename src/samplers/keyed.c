/* Keys of lines: learned once, then found where they stood. */
#include "samplers/keyed.h"

#include "base/scan.h"
#include "samplers/counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNWANTED UINT16_MAX
#define KEY_MAX 63u /* bytes of a key with its end */

void keyed_init(struct keyed *keyed, const char *name,
                void (*describe)(struct bytes key, const char *line, struct keyed_meaning *meaning))
{
    *keyed = (struct keyed){ .name = name, .describe = describe };
}

void keyed_clear(struct keyed *keyed)
{
    for (size_t i = 0; i < keyed->count; i++)
        free(keyed->texts[i]);
    free(keyed->texts);
    free(keyed->keys);
    free(keyed->names);
    for (struct keyed_set *set = keyed->newest, *older; set; set = older) {
        older = set->older;
        free(set);
    }
    *keyed = (struct keyed){ 0 };
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A word begins at a capital behind a small letter or a digit, and at the last of several capitals: "VmallocTotal",
 * "KReclaimable". */
static bool begins_word(struct bytes key, size_t i)
{
    if (i == 0 || !is_upper(key.data[i]))
        return false;
    char before = key.data[i - 1], after = i + 1 < key.size ? key.data[i + 1] : '\0';
    return is_lower(before) || is_digit(before) || (is_upper(before) && is_lower(after));
}

void keyed_snake(struct bytes key, char *name, size_t size)
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

const char *keyed_skip(const struct keyed_form *form, const char *line)
{
    if (form->prefix) {
        size_t size = strlen(form->prefix);
        if (strncmp(line, form->prefix, size))
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
        if (keyed->texts[i] && !strcmp(keyed->texts[i], name))
            return true;
    return false;
}

/* Two keys may have the same name in snake case: the later one has a number behind it. */
static void make_unique(const struct keyed *keyed, char name[KEYED_NAME_MAX])
{
    char first[KEYED_NAME_MAX - 8];
    snprintf(first, sizeof first, "%.*s", (int)sizeof first - 1, name);
    for (unsigned n = 2; has_name(keyed, name); n++)
        snprintf(name, KEYED_NAME_MAX, "%s_%u", first, n);
}

static char *pack_texts(struct bytes key, const struct keyed_meaning *meaning)
{
    struct buf texts;
    buf_init(&texts, 1024);
    buf_add(&texts, meaning->name, strlen(meaning->name) + 1);
    if (*meaning->help)
        buf_add_text(&texts, meaning->help);
    else
        buf_printf(&texts, "what the kernel calls %.*s", (int)key.size, key.data);
    buf_add_char(&texts, '\0');
    buf_add(&texts, key.data, key.size);
    buf_add_char(&texts, '\0');
    buf_add_text(&texts, meaning->unit);
    if (!buf_err(&texts))
        return texts.data;
    buf_clear(&texts);
    return NULL;
}

/* One more key, with a name of size bytes. */
static bool grow(struct keyed *keyed, size_t size)
{
    char *names = realloc(keyed->names, keyed->names_size + size);
    if (!names)
        return false;
    keyed->names = names;
    if (keyed->count < keyed->room)
        return true;
    size_t room = keyed->room ? keyed->room * 2 : 64;
    struct keyed_key *keys = realloc(keyed->keys, room * sizeof *keys);
    keyed->keys = keys ? keys : keyed->keys;
    char **texts = realloc(keyed->texts, room * sizeof(char *));
    keyed->texts = texts ? texts : keyed->texts;
    if (!keys || !texts)
        return false;
    keyed->room = room;
    return true;
}

static enum err add_key(struct keyed *keyed, struct bytes key, const char *line)
{
    struct keyed_meaning meaning = { .unit = "1", .kind = COUNTER };
    struct bytes bare = { key.data, key.size - 1 };
    keyed_snake(bare, meaning.name, sizeof meaning.name);
    if (keyed->describe)
        keyed->describe(bare, line, &meaning);
    bool is_wanted = *meaning.name;
    if (is_wanted)
        make_unique(keyed, meaning.name);
    char *texts = is_wanted ? pack_texts(bare, &meaning) : NULL;
    if ((is_wanted && !texts) || !grow(keyed, key.size)) {
        free(texts);
        return NOMEM;
    }
    keyed->texts[keyed->count] = texts;
    keyed->keys[keyed->count++] = (struct keyed_key){
        .at = (uint32_t)keyed->names_size, .size = (uint8_t)key.size,
        .place = is_wanted ? (uint16_t)keyed->wanted : UNWANTED,
        .is_counter = meaning.kind == COUNTER, .is_kb = meaning.is_kb,
    };
    memcpy(keyed->names + keyed->names_size, key.data, key.size);
    keyed->names_size += key.size;
    keyed->wanted += is_wanted;
    return OK;
}

/* The key of a line with its end; size 0: there is none, or it is none. */
static struct bytes key_of(const struct keyed_form *form, const char *line)
{
    struct bytes key = { keyed_skip(form, line), 0 };
    if (!key.data)
        return key;
    size_t size = 0;
    while (size < KEY_MAX && key.data[size] > ' ' && key.data[size] < 0x7f && key.data[size] != form->end)
        size++;
    if (size && size < KEY_MAX && key.data[size] == form->end)
        key.size = size + 1;
    return key;
}

enum err keyed_learn(struct keyed *keyed, const struct keyed_form *form, const char *text)
{
    size_t expected = 0, strange = 0;
    bool is_full = keyed->sets >= KEYED_SETS_MAX;
    keyed->has_news = false;
    for (const char *line = text; line && *line; line = scan_next_line(line)) {
        struct bytes key = key_of(form, line);
        if (key.size && keyed_find(keyed, key.data, &expected) != KEYED_NONE)
            continue;
        if (!key.size || is_full || keyed->count >= KEYED_KEYS_MAX) {
            strange++;
            continue;
        }
        enum err err = add_key(keyed, key, line);
        if (err)
            return err;
    }
    if (strange > keyed->strange)
        keyed->strange = strange;
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
    if (keyed->newest && keyed->newest->set.size == keyed->wanted)
        return OK;
    struct keyed_set *set = calloc(1, sizeof *set + keyed->wanted * sizeof *set->metrics);
    if (!set)
        return NOMEM;
    for (size_t i = 0; i < keyed->count; i++)
        if (keyed->keys[i].place != UNWANTED)
            describe_metric(keyed->texts[i], keyed->keys[i].is_counter, &set->metrics[keyed->keys[i].place]);
    set->set = (struct set){ keyed->name, set->metrics, keyed->wanted, keyed->instances };
    set->older = keyed->newest;
    keyed->newest = set;
    keyed->sets++;
    return OK;
}

const struct set *keyed_set(const struct keyed *keyed)
{
    return keyed->newest ? &keyed->newest->set : NULL;
}

enum err keyed_last_fit(struct keyed_last *last, const struct keyed *keyed)
{
    if (last->size >= keyed->wanted)
        return OK;
    uint64_t *values = realloc(last->values, keyed->wanted * sizeof *values);
    if (!values)
        return NOMEM;
    memset(values + last->size, 0, (keyed->wanted - last->size) * sizeof *values);
    *last = (struct keyed_last){ values, keyed->wanted };
    return OK;
}

void keyed_last_clear(struct keyed_last *last)
{
    free(last->values);
    *last = (struct keyed_last){ 0 };
}

/* at: behind the key. Returns what is behind the number, or at. */
static const char *set_number(const struct keyed_key *key, const char *at, struct sample *sample, struct keyed_last *last)
{
    uint64_t value;
    if (key->place >= sample->set->size || sample->known[key->place] || !scan_u64(&at, &value))
        return at;
    if (key->is_kb && __builtin_mul_overflow(value, 1024u, &value))
        return at;
    if (key->is_counter && key->place < last->size)
        rising_set(sample, key->place, value, &last->values[key->place]);
    else
        sample_set_u64(sample, key->place, value);
    return at;
}

void keyed_fill(struct keyed *keyed, const struct keyed_form *form, const char *text, struct sample *sample,
                struct keyed_last *last, size_t *expected)
{
    size_t strange = 0;
    for (const char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        const char *begin = keyed_skip(form, line);
        size_t place = begin ? keyed_find(keyed, begin, expected) : KEYED_NONE;
        if (place == KEYED_NONE)
            strange++;
        else
            line = set_number(&keyed->keys[place], begin + keyed->keys[place].size, sample, last);
        end = *line == '\n' ? line : strchr(line, '\n');
    }
    if (strange > keyed->strange)
        keyed->has_news = true;
}
