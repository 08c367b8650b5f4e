/* holdfast-guest - tells the host of this VM what its bond does, and sets the active slave when
 * the host says so. Runs from an init script or a service file; see README.md. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/guest/loop.h"
#include "supervisord/base/log.h"

static int usage(FILE *to, int status)
{
    (void)fprintf(to, "usage: holdfast-guest [--port PORT] [--bond NAME] [--verbose]\n"
                      "\n"
                      "  --port PORT  /dev/vport0p1, vsock:NUMBER or unix:PATH; without it the\n"
                      "               virtio-serial port " HF_GUEST_PORT "\n"
                      "  --bond NAME  without it the first active-backup bond\n"
                      "  --verbose    every change and order on stderr, not only what is wrong\n"
                      "  --version, --help\n");
    return status;
}

struct options {
    const char *port, *bond;
    bool is_verbose;
};

/* -1: go on; otherwise the exit status. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"port", required_argument, NULL, 'p'}, {"bond", required_argument, NULL, 'b'},
        {"verbose", no_argument, NULL, 'v'},    {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    int option;

    *options = (struct options){.port = "", .bond = ""};
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'p':
            options->port = optarg;
            break;
        case 'b':
            options->bond = optarg;
            break;
        case 'v':
            options->is_verbose = true;
            break;
        case 'V':
            puts("holdfast-guest " HF_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            return usage(stdout, EXIT_SUCCESS);
        default:
            return usage(stderr, EXIT_FAILURE);
        }
    }
    if (optind != argc || strlen(options->bond) > HF_IFNAME_MAX)
        return usage(stderr, EXIT_FAILURE);
    return -1;
}

int main(int argc, char **argv)
{
    struct options options;
    struct channel_where where;
    struct loop *loop;
    struct hf_err err;
    int status = read_options(argc, argv, &options);

    if (status >= 0)
        return status;
    hf_log_open("holdfast-guest", options.is_verbose ? HF_LOG_INFO : HF_LOG_WARNING, false);
    /* An init script's terminal goes away; a host that leaves is told by write(). */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    if (channel_where_parse(&where, options.port, &err) != HF_OK) {
        hf_error("%s", err.text);
        return EXIT_FAILURE;
    }
    /* A working directory holds its file system. */
    if (chdir("/") != 0)
        hf_warning("cannot change to /");
    loop = malloc(sizeof *loop);
    if (loop == NULL ||
        loop_open(loop, &where, options.bond, "/proc/sys/kernel/random/boot_id", &err) != HF_OK) {
        hf_error("%s", loop == NULL ? "no memory" : err.text);
        free(loop);
        return EXIT_FAILURE;
    }
    loop_run(loop);
    loop_close(loop);
    free(loop);
    return EXIT_SUCCESS;
}
