#include "supervisord/base/nlattr.h"

#include <linux/netlink.h>
#include <string.h>

struct hf_nlattrs hf_nlattrs_on(const void *bytes, size_t len)
{
    return (struct hf_nlattrs){.at = bytes, .left = len};
}

struct hf_nlattrs hf_nlattrs_in(const struct hf_nlattr *attr)
{
    return hf_nlattrs_on(attr->value, attr->len);
}

bool hf_nlattrs_next(struct hf_nlattrs *attrs, struct hf_nlattr *attr)
{
    struct nlattr head = {.nla_len = 0};
    size_t step;

    if (attrs->bad || attrs->left == 0)
        return false;
    if (attrs->left >= sizeof head)
        memcpy(&head, attrs->at, sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > attrs->left) {
        attrs->bad = true;
        return false;
    }
    attr->type = head.nla_type & (uint16_t)NLA_TYPE_MASK;
    attr->value = attrs->at + sizeof head;
    attr->len = head.nla_len - sizeof head;
    step = (size_t)NLA_ALIGN(head.nla_len);
    step = step < attrs->left ? step : attrs->left;
    attrs->at += step;
    attrs->left -= step;
    return true;
}

bool hf_nlattr_get(const struct hf_nlattr *attr, void *out, size_t len)
{
    if (attr->len < len)
        return false;
    memcpy(out, attr->value, len);
    return true;
}

size_t hf_nlattr_text_len(const struct hf_nlattr *attr)
{
    return strnlen((const char *)attr->value, attr->len);
}

bool hf_nlattr_is_text(const struct hf_nlattr *attr, const char *text)
{
    size_t len = strlen(text);

    return hf_nlattr_text_len(attr) == len && memcmp(attr->value, text, len) == 0;
}
