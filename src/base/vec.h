/* Growing arrays with a stated maximum. The capacity doubles; memory is never given back before vec_clear.
 *
 *     VEC(struct gap) gaps = { 0 };
 *     enum err err = vec_push(&gaps, GAPS_MAX, (struct gap){ first, last });
 *     for (size_t i = 0; i < gaps.count; i++) use(&gaps.items[i]);
 *     vec_clear(&gaps);
 *
 * The macros take a pointer to any struct with the fields items, count and capacity. Arrays that share one capacity, or
 * whose fields have other names, use array_reserve. On failure the array is unchanged. */
#ifndef SONDE_BASE_VEC_H
#define SONDE_BASE_VEC_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* For arrays whose size is bounded by where the items come from (a file of limited size, the CPUs of the node). */
#define VEC_MAX ((size_t)UINT32_MAX)

#define VEC(type)                                                                                                            \
    struct {                                                                                                                 \
        type *items;                                                                                                         \
        size_t count, capacity;                                                                                              \
    }

/* The capacity for need items: the present one, doubled as often as needed; at most max. */
static inline size_t vec_capacity(size_t capacity, size_t need, size_t max)
{
    capacity = capacity ? capacity : 8;
    while (capacity < need)
        capacity *= 2;
    return capacity < max ? capacity : max;
}

/* Behind the macros: *array (of any type) gets memory for count items. */
static inline enum err vec_resize(void *array, size_t count, size_t item_size)
{
    void *items;
    size_t size;
    memcpy(&items, array, sizeof items);
    items = __builtin_mul_overflow(count, item_size, &size) ? NULL : realloc(items, size);
    if (!items)
        return NOMEM;
    memcpy(array, &items, sizeof items);
    return OK;
}

static inline enum err vec_grow(void *array, size_t *capacity, size_t need, size_t max, size_t item_size)
{
    if (need > max)
        return FULL;
    size_t larger = vec_capacity(*capacity, need, max);
    if (vec_resize(array, larger, item_size))
        return NOMEM;
    *capacity = larger;
    return OK;
}

/* Gives an array memory for count items, which is over 0: OK or NOMEM. For several arrays of one vec_capacity, and for
 * those that grow so seldom that they keep no capacity. */
#define array_resize(array, count) vec_resize(&(array), count, sizeof *(array))

/* Makes the capacity at least need: OK, FULL (need is over max) or NOMEM. capacity is an lvalue of any unsigned type. */
#define array_reserve(array, capacity, need, max)                                                                            \
    __extension__({                                                                                                          \
        size_t vec_need_ = (need), vec_capacity_ = (capacity);                                                               \
        enum err vec_err_ = OK;                                                                                              \
        if (vec_need_ > vec_capacity_) {                                                                                     \
            vec_err_ = vec_grow(&(array), &vec_capacity_, vec_need_, (max), sizeof *(array));                                \
            (capacity) = (__typeof__(capacity))vec_capacity_;                                                                \
        }                                                                                                                    \
        vec_err_;                                                                                                            \
    })

/* The same, and the items that are added are zero. */
#define array_reserve_zeroed(array, capacity, need, max)                                                                     \
    __extension__({                                                                                                          \
        size_t vec_old_ = (capacity);                                                                                        \
        enum err vec_zeroed_ = array_reserve(array, capacity, need, max);                                                    \
        if ((capacity) > vec_old_)                                                                                           \
            memset((array) + vec_old_, 0, ((capacity) - vec_old_) * sizeof *(array));                                        \
        vec_zeroed_;                                                                                                         \
    })

/* Memory for more further items. */
#define vec_reserve(vec, more, max) array_reserve((vec)->items, (vec)->capacity, (vec)->count + (more), max)

/* Appends an item, which stands last so that it may be a compound literal. */
#define vec_push(vec, max, ...)                                                                                              \
    __extension__({                                                                                                          \
        enum err vec_pushed_ = vec_reserve(vec, 1, max);                                                                     \
        if (!vec_pushed_)                                                                                                    \
            (vec)->items[(vec)->count++] = (__VA_ARGS__);                                                                    \
        vec_pushed_;                                                                                                         \
    })

/* Inserts an item before the one at index at (at <= count). */
#define vec_insert(vec, at, max, ...)                                                                                        \
    __extension__({                                                                                                          \
        size_t vec_at_ = (at);                                                                                               \
        enum err vec_inserted_ = vec_reserve(vec, 1, max);                                                                   \
        if (!vec_inserted_) {                                                                                                \
            memmove((vec)->items + vec_at_ + 1, (vec)->items + vec_at_, ((vec)->count - vec_at_) * sizeof *(vec)->items);    \
            (vec)->items[vec_at_] = (__VA_ARGS__);                                                                           \
            (vec)->count++;                                                                                                  \
        }                                                                                                                    \
        vec_inserted_;                                                                                                       \
    })

/* Removes the item at index at and keeps the order of the others. */
#define vec_remove(vec, at)                                                                                                  \
    __extension__({                                                                                                          \
        size_t vec_at_ = (at);                                                                                               \
        (vec)->count--;                                                                                                      \
        memmove((vec)->items + vec_at_, (vec)->items + vec_at_ + 1, ((vec)->count - vec_at_) * sizeof *(vec)->items);        \
    })

/* Frees the array, which is empty then and can be used again. */
#define vec_clear(vec)                                                                                                       \
    __extension__({                                                                                                          \
        free((vec)->items);                                                                                                  \
        (vec)->items = NULL;                                                                                                 \
        (vec)->count = (vec)->capacity = 0;                                                                                  \
    })

#endif
