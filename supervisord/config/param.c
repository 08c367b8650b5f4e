#include "supervisord/config/internal.h"

#include <string.h>

#include "supervisord/base/str.h"

/* Parameters that are not the file's to give. The agent's stdin is action, credentials and these
 * parameters, and the last value of a key wins there: one line here could turn "off" into "on". */
static const struct refusal {
    const char *part; /* of the key */
    bool anywhere;    /* the key contains it; otherwise the key is it */
    const char *why;
} refusals[] = {
    {"action", false, "the action is Holdfast's own decision"},
    {"option", false, "it is an old name of 'action', which is Holdfast's own decision"},
    {"passw", true, "secrets belong in the credentials file"},
    {"community", false, "secrets belong in the credentials file"},
    {"help", false, "it makes the agent do nothing and report success"},
    {"version", false, "it makes the agent do nothing and report success"},
    /* Fence agents write every option, the password too, into their debug file. */
    {"debug", false, "it writes the password to a file"},
    {"debug_file", false, "it writes the password to a file"},
};

/* Fence agents take '-' and '_' in a key for the same, so we must too. */
static void fold(const char *key, char out[CONFIG_LINE_MAX + 1])
{
    (void)hf_str_copy(out, CONFIG_LINE_MAX + 1, key);
    for (char *c = out; *c != '\0'; c++)
        if (*c == '-')
            *c = '_';
}

static const char *refusal_of(const char *key)
{
    char folded[CONFIG_LINE_MAX + 1];

    fold(key, folded);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = &refusals[i];

        if (r->anywhere ? strstr(folded, r->part) != NULL : strcmp(folded, r->part) == 0)
            return r->why;
    }
    return NULL;
}

static bool is_key(const char *text)
{
    return text[0] >= 'a' && text[0] <= 'z' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

static enum hf_code check_key(const struct config_draft *draft,
                              const struct hf_fence_device *device, const char *key,
                              struct config_place place, struct hf_err *err)
{
    char quoted[CONFIG_QUOTE_MAX];
    const char *why = refusal_of(key);

    if (!is_key(key))
        return config_fail(draft, place, err,
                           "bad parameter name %s: expected a-z 0-9 _ -, first a letter",
                           config_quote(key, quoted));
    if (strlen(key) >= sizeof device->params[0].key)
        return config_fail(draft, place, err, "parameter name %s is longer than %u characters",
                           config_quote(key, quoted), (unsigned)sizeof device->params[0].key - 1);
    if (why != NULL)
        return config_fail(draft, place, err, "parameter '%s' is refused: %s", key, why);
    return HF_OK;
}

enum hf_code config_param_add(const struct config_draft *draft, struct hf_fence_device *device,
                              const char *key, const char *value, struct config_place key_place,
                              struct config_place value_place, struct hf_err *err)
{
    struct hf_fence_param *params = device->params;
    size_t at = device->params_count;

    if (check_key(draft, device, key, key_place, err) != HF_OK)
        return err->code;
    if (strlen(value) > HF_PARAM_VALUE_MAX)
        return config_fail(draft, value_place, err, "value of '%s' is longer than %d bytes", key,
                           HF_PARAM_VALUE_MAX);
    /* Power cycling may report success before the power is gone; the agents warn of it themselves.
     */
    if (strcmp(key, "method") == 0 && strcmp(value, "onoff") != 0)
        return config_fail(draft, value_place, err,
                           "parameter 'method' may only be 'onoff': a power cycle proves nothing");
    if (config_param_find(device, key) != NULL)
        return config_fail(draft, key_place, err, "parameter '%s' is given twice", key);
    if (at >= HF_FENCE_PARAMS_MAX)
        return config_fail(draft, key_place, err, "too many parameters: at most %d",
                           HF_FENCE_PARAMS_MAX);
    /* Sorted, so that their order in the file does not make another configuration. */
    for (; at > 0 && strcmp(params[at - 1].key, key) > 0; at--)
        params[at] = params[at - 1];
    memset(&params[at], 0, sizeof params[at]);
    (void)hf_str_copy(params[at].key, sizeof params[at].key, key);
    (void)hf_str_copy(params[at].value, sizeof params[at].value, value);
    device->params_count++;
    return HF_OK;
}

const char *config_param_find(const struct hf_fence_device *device, const char *key)
{
    char wanted[CONFIG_LINE_MAX + 1], folded[CONFIG_LINE_MAX + 1];

    fold(key, wanted);
    for (size_t i = 0; i < device->params_count; i++) {
        fold(device->params[i].key, folded);
        if (strcmp(folded, wanted) == 0)
            return device->params[i].value;
    }
    return NULL;
}
