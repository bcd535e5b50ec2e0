/* Prints a spool with what its arguments state, as a hostile user would write it:
 *   forge_spool RUN_ID JOB_ID USER UID HOST [START_NS [PADDING]]
 * PADDING: so many bytes of incompressible records are appended. */
#include "base/clock.h"
#include "spool/frame.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t frame[1u << 20];

static void print_run(char **arguments, uint64_t start_ns)
{
    struct packer p = { frame + FRAME_HEAD, frame + sizeof frame - 8, false };
    struct run_record record = {
        .run_id = bytes_of(arguments[1]), .job_id = bytes_of(arguments[2]), .user = bytes_of(arguments[3]),
        .uid = strtoull(arguments[4], NULL, 10), .host = bytes_of(arguments[5]), .name = bytes_of("forged"),
        .time_ns = start_ns, .pid = 1,
    };
    record_pack_run(&p, &record);
    fwrite(frame, 1, frame_finish(frame, RECORD_KIND_run, (size_t)(p.at - frame) - FRAME_HEAD), stdout);
}

static void print_padding(size_t size)
{
    char text[60000];
    FILE *random = fopen("/dev/urandom", "r");
    while (random && size) {
        size_t part = fread(text, 1, size < sizeof text ? size : sizeof text, random);
        struct packer p = { frame + FRAME_HEAD, frame + sizeof frame - 8, false };
        struct image_record record = { .pid = 2, .ppid = 1, .path = { text, part } };
        record_pack_image(&p, &record);
        fwrite(frame, 1, frame_finish(frame, RECORD_KIND_image, (size_t)(p.at - frame) - FRAME_HEAD), stdout);
        size -= part;
    }
    if (random)
        fclose(random);
}

int main(int count, char **arguments)
{
    if (count < 6) {
        fputs("usage: forge_spool RUN_ID JOB_ID USER UID HOST [START_NS [PADDING]]\n", stderr);
        return 2;
    }
    print_run(arguments, count > 6 ? strtoull(arguments[6], NULL, 10) : clock_realtime_ns());
    print_padding(count > 7 ? strtoull(arguments[7], NULL, 10) : 0);
    return fflush(stdout) ? 1 : 0;
}
