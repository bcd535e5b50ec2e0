/* The dictionary: open addressing over an array of borrowed texts, no allocation per text. */
#include "model/dictionary.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 64u

void dictionary_init(struct dictionary *dictionary)
{
    *dictionary = (struct dictionary){ 0 };
}

void dictionary_clear(struct dictionary *dictionary)
{
    free(dictionary->texts);
    free(dictionary->hashes);
    free(dictionary->slots);
    dictionary_init(dictionary);
}

/* Eight bytes at a time: paths are hashed once for each of a million processes. Not for keys an attacker may choose to
 * gain anything: the worst that he gets is a slow filing of his own job. */
static uint64_t hash_of(struct bytes text)
{
    uint64_t hash = 0x9e3779b97f4a7c15ull ^ text.size, word;
    size_t at = 0;
    for (; at + sizeof word <= text.size; at += sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        hash = (hash ^ word) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
    }
    word = 0;
    if (at < text.size)
        memcpy(&word, text.data + at, text.size - at);
    hash = (hash ^ word) * 0xc4ceb9fe1a85ec53ull;
    return hash ^ hash >> 29;
}

static void place(struct dictionary *dictionary, uint64_t hash, uint32_t number)
{
    size_t mask = dictionary->slot_count - 1, slot = hash & mask;
    while (dictionary->slots[slot])
        slot = (slot + 1) & mask;
    dictionary->slots[slot] = number + 1;
}

static bool grow_slots(struct dictionary *dictionary)
{
    if (dictionary->count * 2 < dictionary->slot_count)
        return true;
    size_t slot_count = dictionary->slot_count ? dictionary->slot_count * 2 : SLOTS_FIRST;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = slot_count;
    for (uint32_t i = 0; i < dictionary->count; i++)
        place(dictionary, dictionary->hashes[i], i);
    return true;
}

static bool grow_texts(struct dictionary *dictionary)
{
    if (dictionary->count < dictionary->room)
        return true;
    size_t room = dictionary->room ? dictionary->room * 2 : SLOTS_FIRST / 2;
    struct bytes *texts = realloc(dictionary->texts, room * sizeof *texts);
    if (!texts)
        return false;
    dictionary->texts = texts;
    uint64_t *hashes = realloc(dictionary->hashes, room * sizeof *hashes);
    if (!hashes)
        return false;
    dictionary->hashes = hashes;
    dictionary->room = room;
    return true;
}

static uint32_t find(const struct dictionary *dictionary, struct bytes text, uint64_t hash)
{
    size_t mask = dictionary->slot_count - 1;
    for (size_t slot = hash & mask; dictionary->slots[slot]; slot = (slot + 1) & mask) {
        uint32_t number = dictionary->slots[slot] - 1;
        if (dictionary->hashes[number] == hash && bytes_equal(dictionary->texts[number], text))
            return number;
    }
    return DICTIONARY_NONE;
}

uint32_t dictionary_add(struct dictionary *dictionary, struct bytes text)
{
    if (dictionary->count && bytes_equal(dictionary->texts[dictionary->last], text))
        return dictionary->last;
    uint64_t hash = hash_of(text);
    if (dictionary->count) {
        uint32_t number = find(dictionary, text, hash);
        if (number != DICTIONARY_NONE)
            return dictionary->last = number;
    }
    if (dictionary->count >= DICTIONARY_NONE - 1 || !grow_slots(dictionary) || !grow_texts(dictionary))
        return DICTIONARY_NONE;
    uint32_t number = (uint32_t)dictionary->count++;
    dictionary->texts[number] = text;
    dictionary->hashes[number] = hash;
    place(dictionary, hash, number);
    return dictionary->last = number;
}
