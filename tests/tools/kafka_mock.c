/* kafka_mock DIR [BROKERS]: librdkafka's mock cluster as a server, for scenes: it speaks the protocol of today, forgets all when
 * it ends, and behaves as the lines that are added to DIR/say tell it:
 *   down N, up N          broker N is away, and back
 *   produce COUNT CODE    the next COUNT requests to write are answered with this error of Kafka's
 *   topic NAME CODE       this topic has an error; 0: none
 * Writes "HOST:PORT,…" to DIR/brokers when it is ready. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 512
#define PRODUCE_REQUEST 0 /* its number in the protocol */

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
    (void)number;
    is_over = 1;
}

static void fail_requests(rd_kafka_mock_cluster_t *cluster, long count, rd_kafka_resp_err_t code)
{
    for (long i = 0; i < count; i++)
        rd_kafka_mock_push_request_errors(cluster, PRODUCE_REQUEST, 1, code);
}

static void obey(rd_kafka_mock_cluster_t *cluster, char *line)
{
    char *rest = NULL;
    const char *verb = strtok_r(line, " \n", &rest), *first = strtok_r(NULL, " \n", &rest);
    const char *second = strtok_r(NULL, " \n", &rest);
    long number = first ? strtol(first, NULL, 10) : 0, code = second ? strtol(second, NULL, 10) : 0;
    if (!verb || !first)
        return;
    if (strcmp(verb, "down") == 0)
        rd_kafka_mock_broker_set_down(cluster, (int32_t)number);
    else if (strcmp(verb, "up") == 0)
        rd_kafka_mock_broker_set_up(cluster, (int32_t)number);
    else if (strcmp(verb, "produce") == 0)
        fail_requests(cluster, number, (rd_kafka_resp_err_t)code);
    else if (strcmp(verb, "topic") == 0)
        rd_kafka_mock_topic_set_error(cluster, first, (rd_kafka_resp_err_t)code);
}

/* What was added to the file since. */
static void listen_to(rd_kafka_mock_cluster_t *cluster, const char *path, long *at)
{
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    if (fseek(file, *at, SEEK_SET) == 0)
        while (fgets(line, sizeof line, file) && strchr(line, '\n')) {
            *at += (long)strlen(line);
            obey(cluster, line);
        }
    fclose(file);
}

static int tell(const char *dir, const char *brokers)
{
    char path[4096], draft[4096];
    snprintf(path, sizeof path, "%s/brokers", dir);
    snprintf(draft, sizeof draft, "%s/brokers.new", dir);
    FILE *file = fopen(draft, "w");
    if (!file)
        return -1;
    fprintf(file, "%s\n", brokers);
    return fclose(file) || rename(draft, path);
}

int main(int argc, char **argv)
{
    char why[256], path[4096];
    long at = 0;
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    rd_kafka_t *kafka = argc > 1 ? rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why) : NULL;
    rd_kafka_mock_cluster_t *cluster = kafka ? rd_kafka_mock_cluster_new(kafka, argc > 2 ? atoi(argv[2]) : 1) : NULL;
    if (!cluster || tell(argv[1], rd_kafka_mock_cluster_bootstraps(cluster)))
        return 1;
    snprintf(path, sizeof path, "%s/say", argv[1]);
    for (; !is_over; usleep(20000))
        listen_to(cluster, path, &at);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(kafka);
    return 0;
}
