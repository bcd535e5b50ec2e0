/* OAR's cgroups: OAR 2 creates /oar/USER_JOB in each v1 hierarchy, OAR 3 systemd slices
 * /oar.slice/oar-uUID.slice/oar-uUID-jJOB.slice with a scope per step below, or /oar.slice/USER_JOB.scope. */
#include "jobs/job_source.h"

#include "jobs/cgroup_path.h"

/* "anna_b_4711": a user name may contain the separator. */
static bool is_user_job(struct bytes part, struct job_source_facts *facts)
{
    struct bytes user, job;
    uint64_t number;
    return cgroup_path_split_last(part, '_', &user, &job) && cgroup_path_number(job, &number)
           && cgroup_path_copy(user, facts->user, sizeof facts->user)
           && cgroup_path_copy(job, facts->id, sizeof facts->id);
}

/* "oar-u1000", also without the u. */
static bool is_uid(struct bytes part, struct job_source_facts *facts)
{
    uint64_t uid;
    if (!cgroup_path_cut_prefix(&part, "oar-"))
        return false;
    cgroup_path_cut_prefix(&part, "u");
    if (!cgroup_path_number(part, &uid) || uid >= UINT32_MAX)
        return false;
    facts->uid = (uint32_t)uid;
    return true;
}

/* "oar-u1000-j4711.slice" */
static bool is_job_slice(struct bytes part, struct job_source_facts *facts)
{
    struct bytes user, job;
    uint64_t number;
    return cgroup_path_cut_suffix(&part, ".slice") && cgroup_path_split_last(part, '-', &user, &job)
           && is_uid(user, facts) && cgroup_path_cut_prefix(&job, "j") && cgroup_path_number(job, &number)
           && cgroup_path_copy(job, facts->id, sizeof facts->id);
}

/* "oar-u1000-j4711-s20261.scope" */
static bool is_step(struct bytes part, struct job_source_facts *facts)
{
    struct bytes front, step;
    if (!cgroup_path_cut_suffix(&part, ".scope") || !cgroup_path_split_last(part, '-', &front, &step))
        return false;
    cgroup_path_cut_prefix(&step, "s");
    return cgroup_path_copy(step, facts->step, sizeof facts->step);
}

static enum cgroup_kind in_slice(const char *at, struct job_source_facts *facts)
{
    struct bytes part, name;
    if (!cgroup_path_next(&at, &part))
        return CGROUP_UNRELATED;
    name = part;
    if (!*at && cgroup_path_cut_suffix(&name, ".scope") && is_user_job(name, facts))
        return CGROUP_JOB;
    if (!cgroup_path_cut_suffix(&part, ".slice") || !is_uid(part, facts))
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_PARENT;
    if (!cgroup_path_next(&at, &part) || !is_job_slice(part, facts))
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_JOB;
    return cgroup_path_next(&at, &part) && !*at && is_step(part, facts) ? CGROUP_STEP : CGROUP_UNRELATED;
}

static enum cgroup_kind oar_place(const char *path, struct job_source_facts *facts)
{
    struct bytes top, part;
    const char *at = path;
    if (!cgroup_path_next(&at, &top) || (!cgroup_path_is(top, "oar") && !cgroup_path_is(top, "oar.slice")))
        return CGROUP_UNRELATED;
    if (!*at)
        return CGROUP_PARENT;
    if (cgroup_path_is(top, "oar.slice"))
        return in_slice(at, facts);
    return cgroup_path_next(&at, &part) && !*at && is_user_job(part, facts) ? CGROUP_JOB : CGROUP_UNRELATED;
}

const struct job_source job_source_oar = {
    .name = "oar",
    .about = "OAR 2 (cgroup v1) and OAR 3 (systemd slices)",
    .place = oar_place,
    .id_variable = "OAR_JOB_ID",
    .user_variable = "OAR_USER",
};
