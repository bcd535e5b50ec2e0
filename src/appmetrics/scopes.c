/* A tree of three levels, and a map of its users and jobs. */
#include "appmetrics/scopes.h"

#include "base/clock.h"
#include "model/prom_label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 4096
#define SCOPES_MAX ((size_t)UINT32_MAX)

struct scope_key {
    const char *id;
    uint32_t uid;
};

static uint64_t hash_of(const char *id, uint32_t uid)
{
    return map_hash_string(map_hash(0, &uid, sizeof uid), id);
}

static bool has_key(const void *item, const void *key)
{
    const struct scope *scope = item;
    const struct scope_key *wanted = key;
    return scope->uid == wanted->uid && !scope->id == !wanted->id && (!wanted->id || strcmp(scope->id, wanted->id) == 0);
}

static struct scope *find(const struct scopes *scopes, const char *id, uint32_t uid)
{
    return map_find(&scopes->by_id, hash_of(id, uid), has_key, &(struct scope_key){ id, uid });
}

/* Programs of several users may name the same job, and each has series of its own: an unknown name is given as a
 * number. */
static void set_labels(struct scope *scope)
{
    struct buf labels;
    char number[SCOPE_NUMBER_MAX];
    buf_init(&labels, LABELS_MAX);
    prom_label_add(&labels, true, "host", scope->tree->host);
    if (scope->id)
        prom_label_add(&labels, false, "job", scope->id);
    if (scope->kind == SCOPE_USER || *scope->user.name || (scope->id && scope->tree->looks_up_users))
        prom_label_add(&labels, false, "user", scope_user_name(scope, number));
    buf_add_text(&labels, "} ");
    buf_reset(&scope->labels);
    if (labels.size)
        buf_add(&scope->labels, labels.data + 1, labels.size - 1); /* the brace is before the metric's own labels */
    buf_clear(&labels);
}

enum err scopes_init(struct scopes *scopes, const char *host, struct quota *quota, bool is_by_user, bool looks_up_users)
{
    *scopes = (struct scopes){
        .host = strdup(host), .quota = quota, .is_by_user = is_by_user, .looks_up_users = looks_up_users, .node.tree = scopes,
    };
    if (!scopes->host)
        return NOMEM;
    buf_init(&scopes->node.labels, LABELS_MAX);
    set_labels(&scopes->node);
    return OK;
}

static void clear_scope(struct scope *scope)
{
    mpi_rank_sums_clear(&scope->mpi.sums);
    mpi_worlds_free(&scope->mpi.worlds);
    buf_clear(&scope->labels);
    free(scope->job.tau);
    free(scope->id);
}

void scope_free(struct scope *scope)
{
    map_remove(&scope->tree->by_id, hash_of(scope->id, scope->uid), scope);
    LIST_REMOVE(scope, link);
    if (scope->kind == SCOPE_JOB)
        scope->parent->job_count--;
    clear_scope(scope);
    free(scope);
}

/* Jobs before their users. */
static void free_all(struct scopes *scopes, enum scope_kind kind)
{
    for (struct scope *scope = LIST_FIRST(&scopes->list), *next; scope; scope = next) {
        next = LIST_NEXT(scope, link);
        if (scope->kind == kind)
            scope_free(scope);
    }
}

void scopes_clear(struct scopes *scopes)
{
    free_all(scopes, SCOPE_JOB);
    free_all(scopes, SCOPE_USER);
    clear_scope(&scopes->node);
    map_clear(&scopes->by_id);
    free(scopes->host);
}

static struct scope *create(struct scopes *scopes, struct scope *parent, const char *id, uint32_t uid)
{
    struct scope *scope = calloc(1, sizeof *scope);
    if (!scope)
        return NULL;
    *scope = (struct scope){ .tree = scopes, .parent = parent, .kind = id ? SCOPE_JOB : SCOPE_USER, .uid = uid };
    scope->id = id ? strdup(id) : NULL;
    if ((id && !scope->id) || map_add(&scopes->by_id, hash_of(id, uid), scope, SCOPES_MAX)) {
        free(scope->id);
        free(scope);
        return NULL;
    }
    buf_init(&scope->labels, LABELS_MAX);
    scope->user.is_pending = scopes->looks_up_users;
    scope->left_ns = clock_monotonic_ns();
    LIST_INSERT_HEAD(&scopes->list, scope, link);
    if (id)
        parent->job_count++;
    else
        quota_add_user(scopes->quota, &scope->quota);
    set_labels(scope);
    return scope;
}

struct scope *scopes_user(struct scopes *scopes, uint32_t uid)
{
    struct scope *scope = scopes->is_by_user ? find(scopes, NULL, uid) : &scopes->node;
    return scope ? scope : create(scopes, &scopes->node, NULL, uid);
}

struct scope *scopes_find_job(const struct scopes *scopes, const char *id, uint32_t uid)
{
    return find(scopes, id, uid);
}

struct scope *scopes_job(struct scopes *scopes, const char *id, uint32_t uid)
{
    struct scope *scope = find(scopes, id, uid), *user = scope ? NULL : scopes_user(scopes, uid);
    return user ? create(scopes, user, id, uid) : scope;
}

void scope_join(struct scope *scope) { scope->programs++; }

void scope_leave(struct scope *scope)
{
    scope->programs--;
    scope->left_ns = clock_monotonic_ns();
}

struct quota_owner *scope_owner(struct scopes *scopes, struct scope *scope)
{
    struct scope *user = scope && scope->kind == SCOPE_JOB ? scope->parent : scope;
    return user && user->kind == SCOPE_USER ? &user->quota : &scopes->quota->shared;
}

const char *scope_user_name(const struct scope *scope, char number[SCOPE_NUMBER_MAX])
{
    snprintf(number, SCOPE_NUMBER_MAX, "%u", scope->uid);
    return *scope->user.name ? scope->user.name : number;
}

void scope_set_user(struct scope *scope, const char *name)
{
    if (!*name)
        return;
    snprintf(scope->user.name, sizeof scope->user.name, "%s", name);
    set_labels(scope);
}

struct scope_mpi *scope_mpi(struct scope *scope)
{
    return scope->kind == SCOPE_JOB ? &scope->mpi : &scope->tree->node.mpi;
}
