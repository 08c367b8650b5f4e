#include "supervisord/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Up to cap bytes; *len < cap means that the file ended. */
static enum hf_code read_all(int fd, const char *file, char *text, size_t cap, size_t *len,
                             struct hf_err *err)
{
    ssize_t got = 1;

    *len = 0;
    while (*len < cap && got != 0) {
        got = read(fd, text + *len, cap - *len);
        if (got < 0 && errno != EINTR)
            return hf_err_set(err, HF_EIO, "read %s: %s", file, strerror(errno));
        if (got > 0)
            *len += (size_t)got;
    }
    return HF_OK;
}

static enum hf_code open_regular(const char *file, int *fd, struct hf_err *err)
{
    struct stat st;

    /* O_NONBLOCK: a FIFO in the file's place must not hold us up. */
    *fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) {
        enum hf_code code = errno == ENOENT ? HF_ENOENT : HF_EIO;

        return hf_err_set(err, code, "open %s: %s", file, strerror(errno));
    }
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return HF_OK;
    close(*fd);
    return hf_err_set(err, HF_EIO, "open %s: not a regular file", file);
}

enum hf_code config_load(const char *file, struct hf_config *config, struct hf_err *err)
{
    const size_t cap =
        HF_CONFIG_TEXT_MAX + 1; /* one more: config_parse() tells that it is too large */
    char *text;
    size_t len;
    int fd;

    memset(config, 0, sizeof *config);
    if (open_regular(file, &fd, err) != HF_OK)
        return err->code;
    text = malloc(cap);
    if (text == NULL) {
        close(fd);
        return hf_err_set(err, HF_EIO, "read %s: out of memory", file);
    }
    enum hf_code code = read_all(fd, file, text, cap, &len, err);
    if (code == HF_OK)
        code = config_parse(file, text, len, config, err);
    free(text);
    close(fd);
    return code;
}
