/* Writing into the lists of a plan: for plan.c alone. */
#ifndef SONDE_AGENT_PLAN_SETTINGS_H
#define SONDE_AGENT_PLAN_SETTINGS_H

#include "agent/plan.h"

/* Adds or replaces; copies both texts. FULL, NOMEM. */
enum err plan_settings_put(struct plan_settings *settings, const char *key, const char *value);

#endif
