/* Messages of Colmet's configuration scripts become requests like those of `sonde ctl`. */
#include "compat/colmet/node_control.h"

#include "base/clock.h"
#include "tools/unit.h"
#include "compat/colmet/config_message.h"

#define NEW "\x82\xa7metrics\xaerss:2:-1,cache\xadsample_period\xa3" "1.5"
#define OLD "\x82\xaeperfhw_metrics\xb9" "cache_ll,emulation_faults\xadsample_period\xa1" "2"
#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static const char *request_of(struct bytes message)
{
    static struct buf request;
    struct buf error;
    buf_clear(&request);
    buf_init(&request, 4096);
    buf_init(&error, 4096);
    struct colmet_metrics metrics;
    bool taken = colmet_request(message, &request, &metrics, &error);
    assert_int_equal(taken, error.size == 0);
    colmet_metrics_clear(&metrics);
    buf_clear(&error);
    return taken ? buf_text(&request) : NULL;
}

static void messages_of_the_scripts_are_applied(void **state)
{
    (void)state;
    struct colmet_config config;
    assert_int_equal(colmet_config_parse(BYTES(NEW), &config), OK);
    assert_int_equal(config.period_ns, 1500 * NS_PER_MS);
    assert_int_equal(config.metrics.size, 14);
    assert_memory_equal(config.metrics.data, "rss:2:-1,cache", 14);
    assert_non_null(strstr(request_of(BYTES(NEW)), "{\"period\": \"1500000000ns\", "
                           "\"temperature.period\": \"1500000000ns\", \"ipmi.period\": \"1500000000ns\"}"));
    assert_non_null(strstr(request_of(BYTES(OLD)),
                           "\"ipmi.period\": \"2000000000ns\", \"perf.events\": \"cache_ll,emulation_faults\"}"));
}

static void very_short_periods_are_rejected(void **state)
{
    (void)state;
    assert_null(request_of(BYTES("\x81\xadsample_period\xa4" "0.05")));
    assert_non_null(request_of(BYTES("\x81\xadsample_period\xa3" "0.1")));
}

static void unknown_metrics_are_reported_and_others_applied(void **state)
{
    (void)state;
    static const struct { const char *list, *events, *unknown; bool has_parts; } cases[] = {
        { "rss:2:-1,cache", "", "", true },
        { "pgfault,nr_periods,throttled_time,total_swap", "", "", false },
        { "task_clock,page_fualts,rss", "task_clock", "page_fualts", false },
        { " task_clock page_faults\n,,memroy,x\033y:1:2", "task_clock,page_faults", "memroy, x?y", true },
        { ":5", "", "", true },
        { "", "", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct colmet_metrics metrics;
        colmet_metrics_read(&metrics, bytes_of(cases[i].list));
        assert_string_equal(buf_text(&metrics.events), cases[i].events);
        assert_string_equal(buf_text(&metrics.unknown), cases[i].unknown);
        assert_int_equal(metrics.has_parts, cases[i].has_parts);
        colmet_metrics_clear(&metrics);
    }
}

static void all_length_encodings_are_read(void **state)
{
    (void)state;
    struct colmet_config config;
    assert_int_equal(colmet_config_parse(BYTES("\xde\x00\x01\xd9\x07metrics\xc4\x01x"), &config), OK);
    assert_int_equal(config.metrics.size, 1);
    assert_int_equal(colmet_config_parse(BYTES("\xdf\0\0\0\1\xda\0\7metrics\xdb\0\0\0\1x"), &config), OK);
    assert_int_equal(config.metrics.size, 1);
    assert_int_equal(colmet_config_parse(BYTES("\x81\xa5other\xa0"), &config), OK);
    assert_null(config.metrics.data);
    assert_int_equal(colmet_config_parse(BYTES("\x80"), &config), OK);
}

static void other_messages_are_rejected(void **state)
{
    (void)state;
    const struct bytes wrong[] = {
        BYTES(""), BYTES("\x92\xa1x\xa1y"), BYTES("\x81\xa7metrics"), BYTES("\x81\xa7metrics\x05"), BYTES("\x81\xa7met"),
        BYTES("\x80x"), BYTES("\xdf\xff\xff\xff\xff"), BYTES("{\"metrics\": \"rss\"}"),
        BYTES("\x81\xadsample_period\xa2-1"), BYTES("\x81\xadsample_period\xa1" "0"), BYTES("\x81\xadsample_period\xa0"),
        BYTES("\x81\xadsample_period\xa3nan"), BYTES("\x81\xadsample_period\xa2" "1h"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(request_of(wrong[i]));
    struct colmet_config config;
    for (size_t size = 0; size < sizeof NEW - 1; size++)
        assert_int_not_equal(colmet_config_parse((struct bytes){ NEW, size }, &config), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_the_scripts_are_applied),
        cmocka_unit_test(very_short_periods_are_rejected),
        cmocka_unit_test(unknown_metrics_are_reported_and_others_applied),
        cmocka_unit_test(all_length_encodings_are_read),
        cmocka_unit_test(other_messages_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
