/* What the names of folders say, for each batch system. */
#include "jobs/source.h"
#include "tools/unit.h"

static const struct source_case {
    const char *path;
    enum source_place place;
    const char *source, *id, *node, *user, *step;
    uint32_t uid;
    bool id_is_other;
} cases[] = {
#define NOBODY UINT32_MAX
    /* Slurm, v1 */
    { "/slurm", PLACE_WAY, "slurm", "", "", "", "", NOBODY, false },
    { "/slurm_c1", PLACE_WAY, "slurm", "", "c1", "", "", NOBODY, false },
    { "/slurm/uid_1000", PLACE_WAY, "slurm", "", "", "", "", 1000, false },
    { "/slurm/uid_1000/job_4711", PLACE_JOB, "slurm", "4711", "", "", "", 1000, false },
    { "/slurm_c1/uid_0/job_4711/step_batch", PLACE_STEP, "slurm", "4711", "c1", "", "batch", 0, false },
    { "/slurm/uid_1000/job_4711/step_0/task_0", PLACE_NONE, NULL },
    { "/slurm/system", PLACE_NONE, NULL },
    { "/slurm/uid_x/job_1", PLACE_NONE, NULL },
    { "/slurm/uid_99999999999/job_1", PLACE_NONE, NULL },
    { "/slurm/uid_1000/job_", PLACE_NONE, NULL },
    { "/slurm/uid_1000/job_12x", PLACE_NONE, NULL },
    { "/slurm_", PLACE_NONE, NULL },
    /* Slurm, v2 */
    { "/system.slice", PLACE_WAY, "slurm", "", "", "", "", NOBODY, false },
    { "/system.slice/slurmstepd.scope", PLACE_WAY, "slurm", "", "", "", "", NOBODY, false },
    { "/system.slice/c1_slurmstepd.scope", PLACE_WAY, "slurm", "", "c1", "", "", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7", PLACE_JOB, "slurm", "7", "", "", "", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7/step_0", PLACE_STEP, "slurm", "7", "", "", "0", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7/step_0/user", PLACE_STEP, "slurm", "7", "", "", "0", NOBODY, false },
    { "/system.slice/slurmstepd.scope/job_7/step_0/slurm", PLACE_NONE, NULL },
    { "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", PLACE_NONE, NULL },
    { "/system.slice/slurmstepd.scope/system", PLACE_NONE, NULL },
    { "/system.slice/sshd.service", PLACE_NONE, NULL },
    { "/system.slice/slurmd.service", PLACE_NONE, NULL },
    /* Slurm from 26.05 on */
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV500", PLACE_JOB, "slurm", "sEKNKTV3WPV500", "", "", "", NOBODY, true },
    { "/system.slice/c2_slurmstepd.scope/s5K1KKYAYG5D00/step_extern", PLACE_STEP, "slurm", "s5K1KKYAYG5D00", "c2", "",
      "extern", NOBODY, true },
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV50", PLACE_NONE, NULL },   /* too short */
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV5000", PLACE_NONE, NULL }, /* too long */
    { "/system.slice/slurmstepd.scope/seknktv3wpv500", PLACE_NONE, NULL },
    { "/system.slice/slurmstepd.scope/sEKNKTV3WPV50U", PLACE_NONE, NULL }, /* no digit of base 32 */
    /* OAR 2 */
    { "/oar", PLACE_WAY, "oar", "", "", "", "", NOBODY, false },
    { "/oar/anna_4711", PLACE_JOB, "oar", "4711", "", "anna", "", NOBODY, false },
    { "/oar/ben_b_4711", PLACE_JOB, "oar", "4711", "", "ben_b", "", NOBODY, false },
    { "/oar/anna", PLACE_NONE, NULL },
    { "/oar/_4711", PLACE_NONE, NULL },
    { "/oar/anna_4711/x", PLACE_NONE, NULL },
    /* OAR 3 */
    { "/oar.slice", PLACE_WAY, "oar", "", "", "", "", NOBODY, false },
    { "/oar.slice/oar-u1000.slice", PLACE_WAY, "oar", "", "", "", "", 1000, false },
    { "/oar.slice/oar-u1000.slice/oar-u1000-j45670.slice", PLACE_JOB, "oar", "45670", "", "", "", 1000, false },
    { "/oar.slice/oar-u1000.slice/oar-u1000-j45670.slice/oar-u1000-j45670-s2101.scope", PLACE_STEP, "oar", "45670", "", "",
      "2101", 1000, false },
    { "/oar.slice/oar-1000.slice/oar-1000-j45670.slice", PLACE_JOB, "oar", "45670", "", "", "", 1000, false },
    { "/oar.slice/anna_45670.scope", PLACE_JOB, "oar", "45670", "", "anna", "", NOBODY, false },
    { "/oar.slice/oar-ux.slice", PLACE_NONE, NULL },
    { "/oar.slice/oar-u1000.slice/oar-u1000.slice", PLACE_NONE, NULL },
    /* PBS */
    { "/pbs_jobs.service", PLACE_WAY, "pbs", "", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobid", PLACE_WAY, "pbs", "", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobid/4711.head", PLACE_JOB, "pbs", "4711.head", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobs/4711[3].head", PLACE_JOB, "pbs", "4711[3].head", "", "", "", NOBODY, false },
    { "/pbspro.slice/pbspro-4711.head.slice", PLACE_JOB, "pbs", "4711.head", "", "", "", NOBODY, false },
    { "/pbspro.slice/pbspro-4711\\x5b3\\x5d.head.slice", PLACE_JOB, "pbs", "4711[3].head", "", "", "", NOBODY, false },
    { "/torque/4711.head", PLACE_JOB, "pbs", "4711.head", "", "", "", NOBODY, false },
    { "/pbs_jobs.service/jobid/leaf", PLACE_NONE, NULL },
    { "/pbspro.slice/pbspro-4711\\x07.slice", PLACE_NONE, NULL },
    { "/pbs_jobs.service/other", PLACE_NONE, NULL },
    /* Nobody's */
    { "", PLACE_NONE, NULL },
    { "/", PLACE_NONE, NULL },
    { "slurm", PLACE_NONE, NULL },
    { "/user.slice", PLACE_NONE, NULL },
    { "/slurm//job_1", PLACE_NONE, NULL },
};

static void each_path_is_what_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source_case *c = &cases[i];
        const struct job_source *source;
        struct source_facts facts;
        enum source_place place = source_place(c->path, &source, &facts);
        if (place != c->place)
            fail_msg("%s is %d, not %d", c->path, (int)place, (int)c->place);
        if (place == PLACE_NONE) {
            assert_null(source);
            continue;
        }
        assert_string_equal(source->name, c->source);
        if (strcmp(facts.id, c->id) || strcmp(facts.node, c->node) || strcmp(facts.user, c->user)
            || strcmp(facts.step, c->step) || facts.uid != c->uid || facts.id_is_other != c->id_is_other)
            fail_msg("%s: id %s node %s user %s step %s uid %u", c->path, facts.id, facts.node, facts.user, facts.step,
                     facts.uid);
    }
}

static void slurmstepd_names_its_job(void **state)
{
    (void)state;
    char id[ID_MAX] = "";
    assert_true(job_source_slurm.title("slurmstepd: [3385.batch]", id));
    assert_string_equal(id, "3385");
    assert_true(job_source_slurm.title("slurmstepd: [40555]", id));
    assert_string_equal(id, "40555");
    assert_false(job_source_slurm.title("slurmstepd: []", id));
    assert_false(job_source_slurm.title("/usr/sbin/slurmstepd infinity", id));
    assert_false(job_source_slurm.title("", id));
}

static void a_list_of_sources_is_a_set(void **state)
{
    (void)state;
    static const struct { const char *text, *written; } lists[] = {
        { "all", "all" }, { "none", "none" }, { "", "none" }, { "oar, slurm", "slurm,oar" },
        { "pbs,pbs", "pbs" }, { "pbs,all", "all" },
    };
    char unknown[SOURCE_NAME_MAX];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct buf out;
        uint32_t sources = 7;
        buf_init(&out, 64);
        assert_int_equal(sources_parse(lists[i].text, &sources, unknown), OK);
        sources_write(&out, sources);
        assert_string_equal(buf_text(&out), lists[i].written);
        buf_clear(&out);
    }
    uint32_t sources = 5;
    assert_int_equal(sources_parse("slurm,lsf", &sources, unknown), USAGE);
    assert_string_equal(unknown, "lsf");
    assert_int_equal(sources, 5);
    assert_true(sources_have(1, &job_source_slurm));
    assert_false(sources_have(1, &job_source_oar));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_is_what_it_is),
        cmocka_unit_test(slurmstepd_names_its_job),
        cmocka_unit_test(a_list_of_sources_is_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
