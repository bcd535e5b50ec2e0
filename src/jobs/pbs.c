/* The folders of PBS Pro and OpenPBS (the cgroups hook): /pbs_jobs.service/jobid/ID in v1, /pbs_jobs.service/jobs/ID in
 * v2, and the systemd slices /pbspro.slice/pbspro-ID.slice of older versions; of Torque: /torque/ID. An id is a number
 * with the server's name behind it ("4711.head", "4711[3].head"), as PBS_JOBID has it. */
#include "jobs/source.h"

#include "jobs/cgroup_path.h"

#include <string.h>

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int hex(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* systemd writes what may not be in the name of a unit as \x5b. */
static bool unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++) {
        if (in[0] == '\\' && in[1] == 'x' && is_hex(in[2]) && is_hex(in[3])) {
            *out = (char)(hex(in[2]) << 4 | hex(in[3]));
            in += 4;
        } else {
            *out = *in++;
        }
        if ((unsigned char)*out < ' ' || *out == 0x7f)
            return false;
    }
    *out = '\0';
    return true;
}

/* Every id begins with a number; the folders of the hook itself do not. */
static enum source_place job_named(struct bytes part, struct source_facts *facts)
{
    if (part.data[0] < '0' || part.data[0] > '9' || !path_copy(part, facts->id, sizeof facts->id)
        || !unescape(facts->id))
        return PLACE_NONE;
    return PLACE_JOB;
}

static enum source_place in_service(const char *at, struct source_facts *facts)
{
    struct bytes part;
    if (!path_next(&at, &part) || (!path_is(part, "jobid") && !path_is(part, "jobs")))
        return PLACE_NONE;
    if (!*at)
        return PLACE_WAY;
    return path_next(&at, &part) && !*at ? job_named(part, facts) : PLACE_NONE;
}

static enum source_place in_slice(const char *at, struct source_facts *facts)
{
    struct bytes part;
    if (!path_next(&at, &part) || *at || !path_cut_front(&part, "pbspro-") || !path_cut_back(&part, ".slice"))
        return PLACE_NONE;
    return job_named(part, facts);
}

static enum source_place pbs_place(const char *path, struct source_facts *facts)
{
    struct bytes top, part;
    const char *at = path;
    if (!path_next(&at, &top))
        return PLACE_NONE;
    bool service = path_is(top, "pbs_jobs.service"), slice = path_is(top, "pbspro.slice"), torque = path_is(top, "torque");
    if (!service && !slice && !torque)
        return PLACE_NONE;
    if (!*at)
        return PLACE_WAY;
    if (torque)
        return path_next(&at, &part) && !*at ? job_named(part, facts) : PLACE_NONE;
    return service ? in_service(at, facts) : in_slice(at, facts);
}

const struct job_source job_source_pbs = {
    .name = "pbs",
    .about = "PBS Pro, OpenPBS, Torque",
    .place = pbs_place,
    .id_variable = "PBS_JOBID",
};
