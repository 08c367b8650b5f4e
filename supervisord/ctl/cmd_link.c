#include "supervisord/ctl/cmd.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/digest.h"
#include "supervisord/door/door.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A large answer as it grows. */
struct text {
    char *bytes;
    size_t len, cap;
};

static bool append(struct text *text, const void *bytes, size_t len)
{
    if (len == 0)
        return true;
    if (text->len + len > CMD_ANSWER_MAX)
        return false;
    if (text->len + len > text->cap) {
        size_t cap = 2 * (text->len + len);
        char *grown = realloc(text->bytes, cap);

        if (grown == NULL)
            return false;
        text->bytes = grown;
        text->cap = cap;
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    return true;
}

/* "connect PATH: No such file or directory": the path is told once. */
static const char *without_place(const char *text, const char *path)
{
    const char *place = strstr(text, path);
    const char *rest = place != NULL ? place + strlen(path) : NULL;

    return rest != NULL && strncmp(rest, ": ", 2) == 0 ? rest + 2 : text;
}

/* More may be waiting to be let in than the door lets wait: the kernel has no event for a place in
 * that queue, so it is tried again. */
static enum hf_code connect_in_time(const char *path, int *fd, struct hf_err *err)
{
    hf_time until = hf_time_add_ms(hf_clock_now(), CMD_ANSWER_MS);
    enum hf_code code = door_connect(path, fd, err);

    while (code == HF_EAGAIN && !hf_time_reached(hf_clock_now(), until)) {
        (void)poll(NULL, 0, CMD_CONNECT_AGAIN_MS);
        code = door_connect(path, fd, err);
    }
    return code;
}

enum hf_ctl_status cmd_link_open(struct cmd_link *link, const char *path)
{
    struct hf_err err;

    link->path = path;
    link->fd = -1;
    switch (connect_in_time(path, &link->fd, &err)) {
    case HF_OK:
        return HF_CTL_OK;
    case HF_EACCESS:
        cmd_say("may not talk to holdfastd at %s: %s. Members of the group 'holdfast' and root "
                "may: sudo usermod -aG holdfast $USER, then log in again.",
                path, err.text);
        return HF_CTL_DENIED;
    case HF_EAGAIN:
        cmd_say("holdfastd at %s is too busy to accept: %s. Try again.", path, err.text);
        return HF_CTL_UNREACHABLE;
    case HF_EINVAL:
        cmd_say("%s", err.text);
        return HF_CTL_USAGE;
    case HF_EIO:
    case HF_EBAD:
    case HF_EFULL:
    case HF_ECLOSED:
    case HF_ETIME:
    case HF_ENOENT:
    case HF_CODES:
        break;
    }
    cmd_say("cannot reach holdfastd at %s: %s. Is it running? See: systemctl status holdfastd",
            path, without_place(err.text, path));
    return HF_CTL_UNREACHABLE;
}

void cmd_link_close(struct cmd_link *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
}

static enum hf_ctl_status gone(const struct cmd_link *link, const char *why)
{
    cmd_say("lost holdfastd at %s: %s. See: journalctl -u holdfastd", link->path, why);
    return HF_CTL_UNREACHABLE;
}

/* False: the deadline has passed. */
static bool wait_for(int fd, short what, hf_time deadline)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = what};
        int64_t left = hf_time_since_ms(deadline, hf_clock_now());
        int count = poll(&ready, 1, left >= INT32_MAX ? -1 : left > 0 ? (int)left + 1 : 0);

        if (count > 0)
            return true;
        if (count == 0 && left <= 0)
            return false;
        if (count < 0 && errno != EINTR)
            return false;
    }
}

static hf_time deadline_in(int64_t ms)
{
    if (ms < 0)
        return (hf_time){INT64_MAX};
    return hf_time_add_ms(hf_clock_now(), ms);
}

enum hf_ctl_status cmd_link_send(struct cmd_link *link, const struct hf_ctl_request *request,
                                 int ride)
{
    hf_time deadline = deadline_in(CMD_ANSWER_MS);
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len = ctl_encode(request, bytes);
    struct hf_err err;
    enum hf_code code;

    while ((code = door_send(link->fd, bytes, len, ride, &err)) == HF_EAGAIN)
        if (!wait_for(link->fd, POLLOUT, deadline))
            return gone(link, "it does not take the request");
    return code == HF_OK ? HF_CTL_OK : gone(link, err.text);
}

/* One record of an answer. HF_CTL_STATUSES: none by the deadline (nothing printed). */
static enum hf_ctl_status receive(struct cmd_link *link, hf_time deadline, uint8_t *bytes,
                                  size_t *len)
{
    struct hf_err err;
    int ride = -1;
    enum hf_code code;

    while ((code = door_receive(link->fd, bytes, HF_FRAME_MAX, len, &ride, &err)) == HF_EAGAIN)
        if (!wait_for(link->fd, POLLIN, deadline))
            return HF_CTL_STATUSES;
    if (ride >= 0)
        (void)close(ride);
    if (code != HF_OK)
        return gone(link, code == HF_ECLOSED ? "it closed the connection" : err.text);
    if (*len < HF_CTL_HEADER || bytes[1] >= HF_CTL_STATUSES || bytes[2] > 1)
        return gone(link, "its answer is malformed");
    if (bytes[0] != HF_CTL_VERSION) {
        cmd_say("holdfastd speaks version %u of the protocol, this command %d: they are of "
                "different releases",
                bytes[0], HF_CTL_VERSION);
        return HF_CTL_UNREACHABLE;
    }
    return HF_CTL_OK;
}

static enum hf_ctl_status parse(const struct cmd_link *link, const char *bytes, size_t len,
                                json_t **json)
{
    json_error_t error;

    *json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &error);
    return *json != NULL ? HF_CTL_OK : gone(link, "its answer is not JSON");
}

static enum hf_ctl_status gather(struct cmd_link *link, hf_time deadline, uint8_t *record,
                                 struct text *text, enum hf_ctl_status *status)
{
    size_t len;

    do {
        enum hf_ctl_status got = receive(link, deadline, record, &len);

        if (got == HF_CTL_STATUSES)
            return gone(link, "no answer in time");
        if (got != HF_CTL_OK)
            return got;
        if (!append(text, record + HF_CTL_HEADER, len - HF_CTL_HEADER))
            return gone(link, "its answer is too long");
    } while (record[2] != 0);
    *status = (enum hf_ctl_status)record[1];
    return HF_CTL_OK;
}

enum hf_ctl_status cmd_link_ask(struct cmd_link *link, const struct hf_ctl_request *request,
                                int ride, int64_t within_ms, json_t **answer)
{
    uint8_t *record = malloc(HF_FRAME_MAX);
    struct text text = {NULL, 0, 0};
    enum hf_ctl_status status = HF_CTL_OK, got;

    *answer = NULL;
    if (record == NULL)
        return gone(link, "out of memory");
    got = cmd_link_send(link, request, ride);
    if (got == HF_CTL_OK)
        got = gather(link, deadline_in(within_ms), record, &text, &status);
    if (got == HF_CTL_OK)
        got = parse(link, text.bytes, text.len, answer);
    free(text.bytes);
    free(record);
    return got != HF_CTL_OK ? got : status;
}

enum hf_ctl_status cmd_link_next(struct cmd_link *link, int64_t within_ms, json_t **record,
                                 bool *more)
{
    uint8_t *bytes = malloc(HF_FRAME_MAX);
    enum hf_ctl_status status;
    size_t len = 0;

    *record = NULL;
    *more = true;
    if (bytes == NULL)
        return gone(link, "out of memory");
    status = receive(link, deadline_in(within_ms), bytes, &len);
    if (status == HF_CTL_STATUSES) {
        free(bytes);
        return HF_CTL_OK;
    }
    if (status == HF_CTL_OK) {
        *more = bytes[2] != 0;
        status = (enum hf_ctl_status)bytes[1];
        if (len > HF_CTL_HEADER &&
            parse(link, (char *)bytes + HF_CTL_HEADER, len - HF_CTL_HEADER, record) != HF_CTL_OK)
            status = HF_CTL_UNREACHABLE;
    }
    free(bytes);
    return status;
}

void cmd_print_json(const json_t *json)
{
    (void)json_dumpf(json, stdout, JSON_COMPACT);
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
}

void cmd_refusal(const struct cmd *cmd, enum hf_ctl_status status, const json_t *answer)
{
    const char *error = cmd_str(answer, "error"), *next = cmd_str(answer, "next");
    const char *subject = cmd_str(answer, "vm");
    char text[512];

    if (error[0] == '\0') { /* the group's own word about an order */
        if (subject[0] == '\0')
            subject = cmd_str(answer, "node");
        (void)snprintf(text, sizeof text, "%s %s refused: %s", cmd_str(answer, "order"), subject,
                       cmd_str(answer, "why_text"));
        error = text;
    }
    if (cmd->is_json)
        cmd_print_json(answer);
    if (status == HF_CTL_NOT_QUORATE && next[0] == '\0')
        next = "holdfast status";
    cmd_say("%s%s%s", error, next[0] != '\0' ? ". See: " : "", next);
}

enum hf_ctl_status cmd_ask(const struct cmd *cmd, const struct hf_ctl_request *request,
                           json_t **answer)
{
    struct cmd_link link;
    enum hf_ctl_status status = cmd_link_open(&link, cmd->socket);

    *answer = NULL;
    if (status != HF_CTL_OK)
        return status;
    status = cmd_link_ask(&link, request, -1, CMD_ANSWER_MS, answer);
    cmd_link_close(&link);
    if (status != HF_CTL_OK && *answer != NULL) {
        cmd_refusal(cmd, status, *answer);
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}
