/* What each user can make an agent of root read: metrics segments and clients of tau. A user may have at most as much of
 * each resource as is left for everybody else: one user alone gets half of it, the next one half of the rest, so that
 * nobody can lock the others out. Time is limited to a share of a processor. What is over the budget is not read now; it
 * is counted, and logged with the user and the reason, at most once in ten minutes for each user.
 *
 * Root and the agent's own user are not limited, and nobody is by an agent of a user, which reads only that user's data.
 * Has its own lock. */
#ifndef SONDE_APPMETRICS_USER_BUDGETS_H
#define SONDE_APPMETRICS_USER_BUDGETS_H

#include "base/vec.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum budget { BUDGET_DESCRIPTORS, BUDGET_ENTRIES, BUDGET_BYTES, BUDGET_TIME, BUDGETS };

struct user_budget {
    uint32_t uid;
    uint64_t taken[BUDGET_TIME];
    uint64_t busy_until_ns; /* CLOCK_MONOTONIC: when the time that was spent for the user is paid back */
    uint64_t logged_ns;     /* 0: never */
};

struct user_budgets {
    pthread_mutex_t lock;
    bool is_by_user;                 /* users are limited */
    uint64_t max[BUDGET_TIME], taken[BUDGET_TIME];
    uint64_t refused;                /* how often something was over a budget */
    VEC(struct user_budget) users;   /* those that have something */
};

void user_budgets_init(struct user_budgets *budgets, bool is_by_user);
void user_budgets_clear(struct user_budgets *budgets);

/* False: over the budget. */
bool user_budgets_take(struct user_budgets *budgets, uint32_t uid, enum budget budget, uint64_t amount);
void user_budgets_return(struct user_budgets *budgets, uint32_t uid, enum budget budget, uint64_t amount);

/* How much more of it the user may take; for a user without a limit, how many descriptors are left. */
uint64_t user_budgets_left(struct user_budgets *budgets, uint32_t uid, enum budget budget);

/* Part of what the user has was not read for lack of it. */
void user_budgets_refuse(struct user_budgets *budgets, uint32_t uid, enum budget budget);

/* May time be spent for the user now? */
bool user_budgets_have_time(struct user_budgets *budgets, uint32_t uid, uint64_t now_ns);
void user_budgets_spend(struct user_budgets *budgets, uint32_t uid, uint64_t now_ns, uint64_t spent_ns);

uint64_t user_budgets_refused(struct user_budgets *budgets);

#endif
