/* Secrets in settings, URLs and messages are not shown. */
#include "base/mask.h"

#include "tools/unit.h"

static void check(const char *key, const char *value, const char *expected)
{
    struct buf out;
    buf_init(&out, 1000);
    mask_add_setting(&out, key, value);
    assert_string_equal(buf_text(&out), expected);
    buf_clear(&out);
}

static void passwords_in_urls_are_hidden(void **state)
{
    (void)state;
    check("path", "postgresql://u:SECRET@db/sonde", "postgresql://u:***@db/sonde");
    check("path", "postgresql://u:SE@CR/ET@db1,db2/sonde", "postgresql://u:***@db1,db2/sonde");
    check("path", "postgresql://db/sonde?user=u&password=SECRET&sslmode=require",
          "postgresql://db/sonde?user=u&password=***&sslmode=require");
    check("url", "http://u:SECRET@influx:8086/write?db=x&u=ada&p=SECRET", "http://u:***@influx:8086/write?db=x&u=ada&p=***");
    check("url", "http://a:S1@x;http://b:S2@y", "http://a:***@x;http://b:***@y");
    check("url", "http://user@host:9200/x", "http://user@host:9200/x");
    check("url", "http://host:9200/x?tick=1", "http://host:9200/x?tick=1");
    check("url", "http://u:SECRET", "http://u:SECRET"); /* host and port */
    check("url", "://:SECRET@", "://:***@");
}

static void values_of_secret_settings_are_hidden(void **state)
{
    (void)state;
    check("password", "SECRET", "***");
    check("api_key", "SECRET", "***");
    check("token", "SECRET", "***");
    check("path", "/var/lib/password=/x y", "/var/lib/password=*** y");
    check("path", "host=db password = SECRET user=u", "host=db password = *** user=u");
    check("path", "host=db password='SE\\'C RET' user=u", "host=db password=*** user=u");
    check("path", "password='SECRET", "password=***");
    check("path", "/var/log/sonde.csv", "/var/log/sonde.csv");
    check("path", "", "");
}

static void secret_kafka_properties_are_hidden(void **state)
{
    (void)state;
    check("options", "sasl.password=SE CR&ET=;sasl.username=u", "sasl.password=***;sasl.username=u");
    check("options", "sasl.username=u;ssl.key.password=SECRET", "sasl.username=u;ssl.key.password=***");
    check("options", "linger.ms=5;;acks", "linger.ms=5;;acks");
}

static void lists_of_settings_hide_their_secrets(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    mask_add_settings(&out, "h1:9092;h2/topic,options=sasl.password=SECRET;acks=1,token=SECRET,");
    assert_string_equal(buf_text(&out), "h1:9092;h2/topic,options=sasl.password=***;acks=1,token=***,");
    buf_clear(&out);
}

static void copy_of_a_message_has_no_secrets(void **state)
{
    (void)state;
    char *copy = mask_copy("cannot open http://u:SECRET@h/x?token=SECRET: refused");
    assert_string_equal(copy, "cannot open http://u:***@h/x?token=*** refused");
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_in_urls_are_hidden),
        cmocka_unit_test(values_of_secret_settings_are_hidden),
        cmocka_unit_test(secret_kafka_properties_are_hidden),
        cmocka_unit_test(lists_of_settings_hide_their_secrets),
        cmocka_unit_test(copy_of_a_message_has_no_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
