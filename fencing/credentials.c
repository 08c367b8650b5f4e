#include "fencing/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/str.h"
#include "supervisord/model/limits.h"

enum { STARS_MAX = 3 };

/* What fence agents call their secrets. The user name belongs to its password. */
static const char *const secret_keys[] = {
    "username",       "password",      "login",   "passwd",    "community",
    "hexadecimal_kg", "token",         "api_key", "apikey",    "access_key",
    "secret_key",     "identity_file", "user",    "client_id", "snmp_priv_passwd",
    "client_secret",
};

static bool is_secret_key(const char *key, size_t len)
{
    for (size_t i = 0; i < sizeof secret_keys / sizeof secret_keys[0]; i++)
        if (strlen(secret_keys[i]) == len && memcmp(secret_keys[i], key, len) == 0)
            return true;
    return false;
}

/* line[len] without its newline. Empty lines and comments are fine. */
static bool line_is_good(const char *line, size_t len)
{
    const char *equals = memchr(line, '=', len);

    if (len == 0 || line[0] == '#')
        return true;
    if (equals == NULL || !is_secret_key(line, (size_t)(equals - line)))
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            return false;
    return len - (size_t)(equals - line) - 1 <= HF_PARAM_VALUE_MAX;
}

enum hf_code credentials_check(struct credentials *c, struct hf_err *err)
{
    unsigned number = 1;
    size_t start = 0;

    if (c->len > CREDENTIALS_MAX)
        return hf_err_set(err, HF_EINVAL, "larger than %d bytes", (int)CREDENTIALS_MAX);
    if (c->len > 0 && c->lines[c->len - 1] != '\n')
        c->lines[c->len++] = '\n';
    for (size_t at = 0; at < c->len; at++) {
        if (c->lines[at] != '\n')
            continue;
        if (!line_is_good(c->lines + start, at - start))
            return hf_err_set(err, HF_EINVAL,
                              "line %u: expected one of username, password, login, passwd, "
                              "community, ... and '=' and a printable value",
                              number);
        start = at + 1;
        number++;
    }
    return HF_OK;
}

static enum hf_code check_file(int fd, struct hf_err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return hf_err_set(err, HF_EIO, "fstat: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return hf_err_set(err, HF_EACCESS, "not a regular file");
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return hf_err_set(err, HF_EACCESS, "owned by uid %u, not by root", (unsigned)st.st_uid);
    if ((st.st_mode & 07177) != 0)
        return hf_err_set(err, HF_EACCESS, "mode %04o, must be 0600",
                          (unsigned)(st.st_mode & 07777));
    if (st.st_nlink != 1)
        return hf_err_set(err, HF_EACCESS, "has %u links, must have one", (unsigned)st.st_nlink);
    if (st.st_size > CREDENTIALS_MAX)
        return hf_err_set(err, HF_EINVAL, "larger than %d bytes", (int)CREDENTIALS_MAX);
    return HF_OK;
}

static enum hf_code read_all(int fd, struct credentials *c, struct hf_err *err)
{
    while (c->len <= CREDENTIALS_MAX) {
        ssize_t got = read(fd, c->lines + c->len, (size_t)CREDENTIALS_MAX + 1 - c->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hf_err_set(err, HF_EIO, "read: %s", strerror(errno));
        if (got == 0)
            return HF_OK;
        c->len += (size_t)got;
    }
    return hf_err_set(err, HF_EINVAL, "larger than %d bytes", (int)CREDENTIALS_MAX);
}

static enum hf_code read_from(int directory, const char *name, struct credentials *c,
                              struct hf_err *err)
{
    enum hf_code code;
    /* O_NONBLOCK: a FIFO must not hold us before fstat can refuse it. */
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "%s", strerror(errno));
    code = check_file(fd, err);
    if (code == HF_OK)
        code = read_all(fd, c, err);
    close(fd);
    return code == HF_OK ? credentials_check(c, err) : code;
}

enum hf_code credentials_read(const char *directory, const char *name, struct credentials *c,
                              struct hf_err *err)
{
    enum hf_code code;
    int fd;

    c->len = 0;
    if (name[0] == '\0')
        return HF_OK;
    if (!hf_str_is_name(name, HF_NAME_MAX))
        return hf_err_set(err, HF_EINVAL, "credentials: bad file name");
    fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hf_err_set(err, HF_EIO, "credentials: open %s: %s", directory, strerror(errno));
    code = read_from(fd, name, c, err);
    close(fd);
    return code == HF_OK ? HF_OK : hf_err_wrap(err, "credentials %s/%s", directory, name);
}

/* ---- words of an agent ---- */

static bool is_user(const char *key, size_t len)
{
    static const char *const users[] = {"username", "login", "user", "client_id"};

    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++)
        if (strlen(users[i]) == len && memcmp(users[i], key, len) == 0)
            return true;
    return false;
}

static void scrub_value(const char *value, size_t value_len, char *text, size_t *len)
{
    /* No more stars than bytes, and not as many: its length is nobody's business either. */
    size_t stars = value_len < STARS_MAX ? value_len : STARS_MAX;
    size_t from = 0;
    char *at;

    while (value_len > 0 && (at = memmem(text + from, *len - from, value, value_len)) != NULL) {
        size_t rest = (size_t)(at - text) + value_len;

        memset(at, '*', stars);
        memmove(at + stars, text + rest, *len - rest);
        *len -= value_len - stars;
        from = (size_t)(at - text) + stars;
    }
}

void credentials_scrub(const struct credentials *c, char *text, size_t *len)
{
    const char *line = c->lines, *end = c->lines + c->len;

    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *equals = memchr(line, '=', (size_t)((stop != NULL ? stop : end) - line));

        if (stop == NULL)
            stop = end;
        if (equals != NULL && line[0] != '#' && !is_user(line, (size_t)(equals - line)))
            scrub_value(equals + 1, (size_t)(stop - equals - 1), text, len);
        line = stop + 1;
    }
}

void credentials_wipe(struct credentials *c)
{
    explicit_bzero(c, sizeof *c);
}
