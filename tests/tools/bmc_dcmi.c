/* A module of OpenIPMI's ipmi_sim (see tests/tools/bmc): a BMC that tells the power of its node by DCMI. At each question
 * one watt more, so that a test sees that it is asked anew. */
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include <OpenIPMI/serv.h>
#include <OpenIPMI/mcserv.h>

#define DCMI 0xdc
#define GET_POWER_READING 0x02
#define INVALID_COMMAND 0xc1

int ipmi_sim_module_print_version(sys_data_t *sys, char *options);
int ipmi_sim_module_init(sys_data_t *sys, const char *options);

static void put_u16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

static void answer(lmc_data_t *mc, msg_t *message, unsigned char *out, unsigned int *size, void *context)
{
    static unsigned asked;
    (void)mc, (void)context;
    if (message->cmd != GET_POWER_READING) {
        out[0] = INVALID_COMMAND;
        *size = 1;
        return;
    }
    memset(out, 0, 19);
    out[1] = DCMI;
    put_u16(out + 2, 300 + asked++); /* now */
    put_u16(out + 4, 110);           /* least */
    put_u16(out + 6, 480);           /* most */
    put_u16(out + 8, 222);           /* average */
    put_u16(out + 14, 60000);        /* over so many ms */
    out[18] = 0x40;                  /* it measures */
    *size = 19;
}

__attribute__((visibility("default"))) int ipmi_sim_module_print_version(sys_data_t *sys, char *options)
{
    (void)sys, (void)options;
    return 0;
}

__attribute__((visibility("default"))) int ipmi_sim_module_init(sys_data_t *sys, const char *options)
{
    (void)sys, (void)options;
    ipmi_emu_register_group_extension_handler(DCMI, answer, NULL);
    return 0;
}
