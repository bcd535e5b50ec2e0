/* The strings in an array, and a map from string to index. No allocation per string. */
#include "model/dictionary.h"

#include "base/vec.h"

struct dictionary_key {
    const struct bytes *strings;
    struct bytes string;
};

void dictionary_init(struct dictionary *dictionary)
{
    *dictionary = (struct dictionary){ 0 };
}

void dictionary_clear(struct dictionary *dictionary)
{
    free(dictionary->strings);
    map_clear(&dictionary->numbers);
    dictionary_init(dictionary);
}

static bool is_string(const void *item, const void *key)
{
    const struct dictionary_key *wanted = key;
    return bytes_equal(wanted->strings[map_index_of_item(item)], wanted->string);
}

uint32_t dictionary_add(struct dictionary *dictionary, struct bytes string)
{
    if (dictionary->count && bytes_equal(dictionary->strings[dictionary->last], string))
        return dictionary->last;
    uint64_t hash = map_hash(0, string.data, string.size);
    struct dictionary_key key = { dictionary->strings, string };
    const void *found = map_find(&dictionary->numbers, hash, is_string, &key);
    if (found)
        return dictionary->last = (uint32_t)map_index_of_item(found);
    if (array_reserve(dictionary->strings, dictionary->capacity, dictionary->count + 1, DICTIONARY_NONE - 1)
        || map_add(&dictionary->numbers, hash, map_item_of_index(dictionary->count), DICTIONARY_NONE - 1))
        return DICTIONARY_NONE;
    dictionary->strings[dictionary->count] = string;
    return dictionary->last = (uint32_t)dictionary->count++;
}
