/* err.h - how a function says that it failed.
 * The bottom says what failed, each level may prefix what it was doing, and only the one who
 * decides what to do logs it, once. Results are not errors: "no home for this VM" is an outcome.
 * Refuses nothing and allocates nothing: a text too long is cut. */
#ifndef SUPERVISORD_BASE_ERR_H
#define SUPERVISORD_BASE_ERR_H

enum hf_code {
    HF_OK = 0,
    HF_EINVAL,  /* the caller's or the user's input breaks a stated rule */
    HF_EIO,     /* the system said no: errno is in the text */
    HF_EBAD,    /* bytes from outside do not decode */
    HF_EFULL,   /* a stated limit is reached */
    HF_EAGAIN,  /* not now; try again when the thing waited for happens */
    HF_ECLOSED, /* the other side is gone */
    HF_ETIME,   /* a deadline passed */
    HF_EACCESS, /* the peer may not do this */
    HF_ENOENT,  /* no such thing */
    HF_CODES
};

struct hf_err {
    enum hf_code code;
    char text[400]; /* below libqb's 512-byte line limit, see base/log.h */
};

/* Set the code and the text, return the code:
 * `return hf_err_set(err, HF_EIO, "open %s: %s", path, strerror(errno));` */
enum hf_code hf_err_set(struct hf_err *err, enum hf_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Put "what: " before the text, keep and return the code. */
enum hf_code hf_err_wrap(struct hf_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Static name of a code, for logs and JSON: "invalid", "io", ... Never NULL. */
const char *hf_code_name(enum hf_code code);

#endif
