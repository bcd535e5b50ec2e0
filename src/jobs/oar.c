/* OAR's folders: OAR 2 makes /oar/USER_JOB in each v1 hierarchy, OAR 3 the slices of systemd
 * /oar.slice/oar-uUID.slice/oar-uUID-jJOB.slice with a scope per step below, or /oar.slice/USER_JOB.scope. */
#include "jobs/source.h"

#include "jobs/cgroup_path.h"

/* "anna_b_4711": a name may have the character that parts it from the job. */
static bool is_user_job(struct bytes part, struct source_facts *facts)
{
    struct bytes user, job;
    uint64_t number;
    return path_split_last(part, '_', &user, &job) && path_number(job, &number)
           && path_copy(user, facts->user, sizeof facts->user) && path_copy(job, facts->id, sizeof facts->id);
}

/* "oar-u1000", also without the u. */
static bool is_uid(struct bytes part, struct source_facts *facts)
{
    uint64_t uid;
    if (!path_cut_front(&part, "oar-"))
        return false;
    path_cut_front(&part, "u");
    if (!path_number(part, &uid) || uid >= UINT32_MAX)
        return false;
    facts->uid = (uint32_t)uid;
    return true;
}

/* "oar-u1000-j4711.slice" */
static bool is_job_slice(struct bytes part, struct source_facts *facts)
{
    struct bytes user, job;
    uint64_t number;
    return path_cut_back(&part, ".slice") && path_split_last(part, '-', &user, &job) && is_uid(user, facts)
           && path_cut_front(&job, "j") && path_number(job, &number) && path_copy(job, facts->id, sizeof facts->id);
}

/* "oar-u1000-j4711-s20261.scope" */
static bool is_step(struct bytes part, struct source_facts *facts)
{
    struct bytes front, step;
    if (!path_cut_back(&part, ".scope") || !path_split_last(part, '-', &front, &step))
        return false;
    path_cut_front(&step, "s");
    return path_copy(step, facts->step, sizeof facts->step);
}

static enum source_place in_slice(const char *at, struct source_facts *facts)
{
    struct bytes part, name;
    if (!path_next(&at, &part))
        return PLACE_NONE;
    name = part;
    if (!*at && path_cut_back(&name, ".scope") && is_user_job(name, facts))
        return PLACE_JOB;
    if (!path_cut_back(&part, ".slice") || !is_uid(part, facts))
        return PLACE_NONE;
    if (!*at)
        return PLACE_WAY;
    if (!path_next(&at, &part) || !is_job_slice(part, facts))
        return PLACE_NONE;
    if (!*at)
        return PLACE_JOB;
    return path_next(&at, &part) && !*at && is_step(part, facts) ? PLACE_STEP : PLACE_NONE;
}

static enum source_place oar_place(const char *path, struct source_facts *facts)
{
    struct bytes top, part;
    const char *at = path;
    if (!path_next(&at, &top) || (!path_is(top, "oar") && !path_is(top, "oar.slice")))
        return PLACE_NONE;
    if (!*at)
        return PLACE_WAY;
    if (path_is(top, "oar.slice"))
        return in_slice(at, facts);
    return path_next(&at, &part) && !*at && is_user_job(part, facts) ? PLACE_JOB : PLACE_NONE;
}

const struct job_source job_source_oar = {
    .name = "oar",
    .about = "OAR 2 (cgroup v1) and OAR 3 (systemd slices)",
    .place = oar_place,
    .id_variable = "OAR_JOB_ID",
    .user_variable = "OAR_USER",
};
