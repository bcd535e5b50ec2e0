/* A linear list: a node has few users that publish metrics at the same time. */
#include "appmetrics/user_budgets.h"

#include "base/clock.h"
#include "base/log.h"

#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTOR_SHARE 0.75           /* of the descriptors of the process */
#define ENTRIES_MAX 32768u              /* metrics segments and directories of runs */
#define BYTES_MAX (128u << 20)          /* descriptors and values of metrics, which are held or read at each tick */
#define TIME_SHARE 20u                  /* a user gets 1/20 of a processor, */
#define TIME_BURST_NS (2 * NS_PER_S)    /* ... averaged over such a time, */
#define TIME_DEBT_MAX_NS (5 * NS_PER_S) /* ... and waits no longer after a long reading */
#define LOG_NS (600 * NS_PER_S)
#define USERS_MAX 4096u

void user_budgets_init(struct user_budgets *budgets, bool is_by_user)
{
    struct rlimit limit;
    *budgets = (struct user_budgets){ .is_by_user = is_by_user, .max = { SIZE_MAX, ENTRIES_MAX, BYTES_MAX } };
    pthread_mutex_init(&budgets->lock, NULL);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        budgets->max[BUDGET_DESCRIPTORS] = (uint64_t)((double)limit.rlim_cur * DESCRIPTOR_SHARE);
}

void user_budgets_clear(struct user_budgets *budgets)
{
    vec_clear(&budgets->users);
    pthread_mutex_destroy(&budgets->lock);
}

static bool is_idle(const struct user_budget *user, uint64_t now_ns)
{
    return !user->taken[BUDGET_DESCRIPTORS] && !user->taken[BUDGET_ENTRIES] && !user->taken[BUDGET_BYTES]
           && user->busy_until_ns <= now_ns && (!user->logged_ns || now_ns - user->logged_ns >= LOG_NS);
}

static void forget_idle(struct user_budgets *budgets)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = budgets->users.count; i-- > 0;)
        if (is_idle(&budgets->users.items[i], now_ns))
            vec_remove(&budgets->users, i);
}

/* NULL: there are too many. */
static struct user_budget *find(struct user_budgets *budgets, uint32_t uid)
{
    size_t i = 0;
    while (i < budgets->users.count && budgets->users.items[i].uid != uid)
        i++;
    if (i < budgets->users.count)
        return &budgets->users.items[i];
    if (budgets->users.count == USERS_MAX)
        forget_idle(budgets);
    if (vec_push(&budgets->users, USERS_MAX, (struct user_budget){ .uid = uid }))
        return NULL;
    return &budgets->users.items[budgets->users.count - 1];
}

static bool is_limited(const struct user_budgets *budgets, uint32_t uid)
{
    return budgets->is_by_user && uid != 0 && uid != geteuid();
}

static uint64_t left(struct user_budgets *budgets, uint32_t uid, enum budget budget)
{
    const struct user_budget *user = find(budgets, uid);
    uint64_t free = budgets->max[budget] > budgets->taken[budget] ? budgets->max[budget] - budgets->taken[budget] : 0;
    if (!is_limited(budgets, uid))
        return budget == BUDGET_DESCRIPTORS ? free : UINT64_MAX / 2; /* callers add to it */
    if (!user)
        return 0;
    return free > user->taken[budget] ? (free - user->taken[budget] + 1) / 2 : 0; /* then the user has what is left, or less */
}

static void refuse(struct user_budgets *budgets, uint32_t uid, enum budget budget)
{
    static const char *const reasons[] = {
        [BUDGET_DESCRIPTORS] = "they need too many file descriptors",
        [BUDGET_ENTRIES] = "there are too many metrics segments",
        [BUDGET_BYTES] = "they have too many or too long metrics",
        [BUDGET_TIME] = "to read them takes more than a twentieth of a processor",
    };
    struct user_budget *user = find(budgets, uid);
    uint64_t now_ns = clock_monotonic_ns();
    budgets->refused++;
    if (!user || (user->logged_ns && now_ns - user->logged_ns < LOG_NS))
        return;
    user->logged_ns = now_ns;
    log_warn("some program metrics of user %u are not read, or later: %s", uid, reasons[budget]);
}

bool user_budgets_take(struct user_budgets *budgets, uint32_t uid, enum budget budget, uint64_t amount)
{
    pthread_mutex_lock(&budgets->lock);
    struct user_budget *user = find(budgets, uid);
    bool may = user && (!is_limited(budgets, uid) || amount <= left(budgets, uid, budget));
    if (may) {
        user->taken[budget] += amount;
        budgets->taken[budget] += amount;
    } else {
        refuse(budgets, uid, budget);
    }
    pthread_mutex_unlock(&budgets->lock);
    return may;
}

void user_budgets_return(struct user_budgets *budgets, uint32_t uid, enum budget budget, uint64_t amount)
{
    pthread_mutex_lock(&budgets->lock);
    struct user_budget *user = amount ? find(budgets, uid) : NULL;
    if (user) {
        user->taken[budget] -= amount;
        budgets->taken[budget] -= amount;
    }
    pthread_mutex_unlock(&budgets->lock);
}

void user_budgets_refuse(struct user_budgets *budgets, uint32_t uid, enum budget budget)
{
    pthread_mutex_lock(&budgets->lock);
    refuse(budgets, uid, budget);
    pthread_mutex_unlock(&budgets->lock);
}

uint64_t user_budgets_left(struct user_budgets *budgets, uint32_t uid, enum budget budget)
{
    pthread_mutex_lock(&budgets->lock);
    uint64_t result = left(budgets, uid, budget);
    pthread_mutex_unlock(&budgets->lock);
    return result;
}

bool user_budgets_have_time(struct user_budgets *budgets, uint32_t uid, uint64_t now_ns)
{
    if (!is_limited(budgets, uid))
        return true;
    pthread_mutex_lock(&budgets->lock);
    const struct user_budget *user = find(budgets, uid);
    bool have = user && user->busy_until_ns <= now_ns + TIME_BURST_NS;
    if (!have)
        refuse(budgets, uid, BUDGET_TIME);
    pthread_mutex_unlock(&budgets->lock);
    return have;
}

void user_budgets_spend(struct user_budgets *budgets, uint32_t uid, uint64_t now_ns, uint64_t spent_ns)
{
    if (!is_limited(budgets, uid))
        return;
    pthread_mutex_lock(&budgets->lock);
    struct user_budget *user = find(budgets, uid);
    if (user) {
        uint64_t until_ns = (user->busy_until_ns > now_ns ? user->busy_until_ns : now_ns) + TIME_SHARE * spent_ns;
        uint64_t latest_ns = now_ns + TIME_BURST_NS + TIME_DEBT_MAX_NS;
        user->busy_until_ns = until_ns < latest_ns ? until_ns : latest_ns;
    }
    pthread_mutex_unlock(&budgets->lock);
}

uint64_t user_budgets_refused(struct user_budgets *budgets)
{
    pthread_mutex_lock(&budgets->lock);
    uint64_t refused = budgets->refused;
    pthread_mutex_unlock(&budgets->lock);
    return refused;
}
