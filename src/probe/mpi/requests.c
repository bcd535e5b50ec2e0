/* A hash table with lines of two words. A word holds a handle and its token. A request is stored in one of sixteen
 * lines and nowhere else, so that nothing ever needs to be moved. Lines are short, because most completed requests
 * are sends, which are not stored. */
#include "probe/mpi/requests.h"

enum { LINES = 32768, LINE = 2, TRIES = 16, PLACE_BITS = 15, PERSISTENTS = 1 << PLACE_BITS };

/* Upper 46 bits: the handle (an address or a number); lower 18: the token: the kind in three bits, then the function
 * or the index into persistents. 0: free. */
static uint64_t table[LINES][LINE] __attribute__((aligned(64)));
static struct persistent persistents[PERSISTENTS];
static uint32_t lowest_free; /* all entries below are used, so that memory is touched only as far as needed */
static bool is_shared;
static unsigned tries = 1; /* lines in which a request may be: grows when a line is full */
static uint32_t lost_metric;

enum { KIND_BITS = REQUEST_KIND_BITS, TOKEN_BITS = KIND_BITS + PLACE_BITS };
_Static_assert((unsigned)FUNCTIONS <= (unsigned)PERSISTENTS, "a function fits where a place does");

#ifdef OPEN_MPI
/* Pointers have 48 bits, the last two of which are 0. */
#define KEY(handle) ((uint64_t)(uintptr_t)(handle) << (TOKEN_BITS - 2))
#else
#define KEY(handle) ((uint64_t)(uint32_t)(handle) << TOKEN_BITS)
#endif

static uint64_t *line(uint64_t key, unsigned try)
{
    return table[((key * 0x9e3779b97f4a7c15u >> 48) + try) & (LINES - 1)];
}

void requests_enable_threads(void)
{
    is_shared = true;
}

static bool take(uint64_t *word, uint64_t expected, uint64_t value)
{
    if (is_shared)
        return __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    if (*word != expected)
        return false;
    *word = value;
    return true;
}

static bool is_of(uint64_t word, uint64_t key)
{
    return word && (word ^ key) >> TOKEN_BITS == 0;
}

static uint64_t *find_in_line(uint64_t *entries, uint64_t key)
{
    for (unsigned i = 0; i < LINE; i++)
        if (is_of(__atomic_load_n(&entries[i], __ATOMIC_ACQUIRE), key))
            return &entries[i];
    return NULL;
}

/* The word of a handle, NULL if there is none. */
static uint64_t *find_word(uint64_t key)
{
    uint64_t *word = find_in_line(line(key, 0), key);
    for (unsigned try = 1; !word && try < __atomic_load_n(&tries, __ATOMIC_RELAXED); try++)
        word = find_in_line(line(key, try), key);
    return word;
}

static void count_lost(void)
{
    if (!lost_metric)
        lost_metric = segment_metric(&call_segment, &(struct segment_description){
            .name = "mpi_requests_lost_total", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
            .help = "Requests that were not followed to their end, because too many were open",
        });
    segment_add_u64(segment_slots(&call_segment, lost_metric), 1);
}

/* As long as no line was ever full: one lookup finds the handle, or a free word. */
static bool add_at_once(uint64_t key, uint64_t token)
{
    uint64_t *entries = line(key, 0), *at = NULL;
    for (unsigned i = 0; i < LINE; i++) {
        uint64_t word = __atomic_load_n(&entries[i], __ATOMIC_RELAXED);
        if (is_of(word, key))
            return take(&entries[i], word, key | token);
        at = word || at ? at : &entries[i];
    }
    return at && take(at, 0, key | token);
}

/* A handle that is already present was freed without our knowledge, and has been reused. */
static bool add(uint64_t key, uint64_t token)
{
    if (__atomic_load_n(&tries, __ATOMIC_RELAXED) == 1 && add_at_once(key, token))
        return true;
    uint64_t *old = find_word(key);
    if (old) {
        *old = key | token;
        return true;
    }
    for (unsigned try = 0; try < TRIES; try++) {
        uint64_t *entries = line(key, try);
        if (try >= tries)
            __atomic_store_n(&tries, try + 1, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < LINE; i++)
            if (__atomic_load_n(&entries[i], __ATOMIC_RELAXED) == 0 && take(&entries[i], 0, key | token))
                return true;
    }
    return false;
}

void requests_add(MPI_Request handle, enum request_kind kind, uint32_t function)
{
    if (handle != MPI_REQUEST_NULL && !add(KEY(handle), kind | function << KIND_BITS))
        count_lost();
}

static struct persistent *take_place(void)
{
    while (__atomic_load_n(&lowest_free, __ATOMIC_RELAXED) < PERSISTENTS) {
        uint32_t at = __atomic_fetch_add(&lowest_free, 1, __ATOMIC_SEQ_CST);
        if (at < PERSISTENTS && !__atomic_exchange_n(&persistents[at].used, true, __ATOMIC_SEQ_CST))
            return &persistents[at];
    }
    return NULL;
}

/* Frees first, then lowers lowest_free: whoever skipped the entry before it was free did so before lowest_free is
 * read here. */
static void leave_place(uint32_t at)
{
    __atomic_store_n(&persistents[at].used, false, __ATOMIC_SEQ_CST);
    uint32_t lowest = __atomic_load_n(&lowest_free, __ATOMIC_SEQ_CST);
    while (at < lowest
           && !__atomic_compare_exchange_n(&lowest_free, &lowest, at, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

void requests_add_persistent(MPI_Request handle, const struct persistent *persistent)
{
    struct persistent *mine = handle == MPI_REQUEST_NULL ? NULL : take_place();
    struct persistent filled = *persistent;
    filled.used = true; /* never free for another thread, not even for a moment */
    if (mine)
        *mine = filled;
    if (!mine || !add(KEY(handle), REQUEST_PERSISTENT | (uint64_t)(mine - persistents) << KIND_BITS)) {
        count_lost();
        if (mine)
            leave_place((uint32_t)(mine - persistents));
    }
}

static bool is_persistent(uint32_t token)
{
    return (token & ((1u << KIND_BITS) - 1)) == REQUEST_PERSISTENT;
}

uint32_t requests_take(MPI_Request handle)
{
    uint64_t *word = handle == MPI_REQUEST_NULL ? NULL : find_word(KEY(handle));
    if (!word)
        return 0;
    uint32_t token = *word & ((1u << TOKEN_BITS) - 1);
    if (!is_persistent(token))
        __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    return token;
}

void requests_restore(MPI_Request handle, uint32_t token)
{
    if (token && !is_persistent(token) && !add(KEY(handle), token))
        count_lost();
}

struct request requests_read(uint32_t token)
{
    uint32_t rest = token >> KIND_BITS;
    if (is_persistent(token))
        return (struct request){ REQUEST_PERSISTENT, persistents[rest].function, &persistents[rest] };
    return (struct request){ token & ((1u << KIND_BITS) - 1), rest, NULL };
}

void requests_forget(MPI_Request handle)
{
    uint64_t *word = handle == MPI_REQUEST_NULL ? NULL : find_word(KEY(handle));
    if (!word)
        return;
    uint32_t token = *word & ((1u << TOKEN_BITS) - 1);
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    if (is_persistent(token))
        leave_place(token >> KIND_BITS);
}
