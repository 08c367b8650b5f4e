#include "supervisord/config/internal.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/str.h"

enum { WORD_MAX = 127 }; /* an item of a list; longer than anything valid */

static void *field(void *record, size_t at)
{
    return (char *)record + at;
}

static const void *field_const(const void *record, size_t at)
{
    return (const char *)record + at;
}

static enum hf_code fail_expected(const struct config_draft *draft, struct config_place place,
                                  const struct config_key *key, const char *text,
                                  const char *expected, struct hf_err *err)
{
    char quoted[CONFIG_QUOTE_MAX];

    return config_fail(draft, place, err, "bad value %s for '%s': expected %s",
                       config_quote(text, quoted), key->name, expected);
}

/* ---- numbers ---- */

static bool is_duration(enum config_type type)
{
    return type == CONFIG_DURATION || type == CONFIG_DURATIONS || type == CONFIG_SECONDS ||
           type == CONFIG_COMPUTED || type == CONFIG_MICROS;
}

static void number_text(enum config_type type, uint32_t value, char out[32])
{
    char duration[24];

    if (is_duration(type)) {
        hf_str_from_ms(value, duration);
        (void)snprintf(out, 32, "%s", duration);
    } else if (type == CONFIG_MEMORY && value % 1024 == 0 && value > 0) {
        (void)snprintf(out, 32, "%uGiB", (unsigned)(value / 1024));
    } else if (type == CONFIG_MEMORY) {
        (void)snprintf(out, 32, "%uMiB", (unsigned)value);
    } else {
        (void)snprintf(out, 32, "%u", (unsigned)value);
    }
}

/* "512MiB", "4GiB" -> MiB. Units are powers of two and say so: "GB" is refused. */
static bool memory_from(const char *text, uint64_t *mib)
{
    char digits[WORD_MAX + 1];
    size_t len = strspn(text, "0123456789");
    uint64_t factor = strcmp(text + len, "MiB") == 0   ? 1
                      : strcmp(text + len, "GiB") == 0 ? 1024
                                                       : 0;

    if (factor == 0 || len == 0 || len > WORD_MAX)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (!hf_str_to_u64(digits, UINT32_MAX, mib))
        return false;
    *mib *= factor;
    return true;
}

static enum hf_code number_read(const struct config_draft *draft, const struct config_key *key,
                                const char *text, struct config_place place, uint32_t *out,
                                struct hf_err *err)
{
    char low[32], high[32], quoted[CONFIG_QUOTE_MAX];
    uint64_t value = 0;
    bool is_number;

    if (is_duration(key->type))
        is_number = hf_str_to_ms(text, &value);
    else if (key->type == CONFIG_MEMORY)
        is_number = memory_from(text, &value);
    else
        is_number = hf_str_to_u64(text, UINT32_MAX, &value);
    if (!is_number && is_duration(key->type))
        return fail_expected(draft, place, key, text,
                             "a duration with its unit (ms, s, min or h), such as 500ms", err);
    if (!is_number && key->type == CONFIG_MEMORY)
        return fail_expected(draft, place, key, text,
                             "an amount with its unit (MiB or GiB), such as 4GiB", err);
    if (!is_number)
        return fail_expected(draft, place, key, text, "a whole number", err);
    if (value < key->low || value > key->high) {
        number_text(key->type, key->low, low);
        number_text(key->type, key->high, high);
        return config_fail(draft, place, err, "%s for '%s' is out of range: %s to %s",
                           config_quote(text, quoted), key->name, low, high);
    }
    if (key->type == CONFIG_SECONDS && value % 1000 != 0)
        return fail_expected(draft, place, key, text, "whole seconds, such as 5s", err);
    *out = (uint32_t)value;
    return HF_OK;
}

static enum hf_code byte_read(const struct config_draft *draft, const struct config_key *key,
                              const char *text, struct config_place place, uint8_t *out,
                              struct hf_err *err)
{
    uint32_t number = 0;

    if (number_read(draft, key, text, place, &number, err) != HF_OK)
        return err->code;
    *out = (uint8_t)number; /* key->high is 255 at most */
    return HF_OK;
}

static enum hf_code computed_read(const struct config_draft *draft, const struct config_key *key,
                                  const char *text, struct config_place place, uint32_t *out,
                                  struct hf_err *err)
{
    uint64_t ignored;

    if (strcmp(text, "computed") == 0) {
        *out = 0;
        return HF_OK;
    }
    if (!hf_str_to_ms(text, &ignored))
        return fail_expected(draft, place, key, text,
                             "'computed' or a duration with its unit, such as 20s", err);
    return number_read(draft, key, text, place, out, err);
}

static enum hf_code micros_read(const struct config_draft *draft, const struct config_key *key,
                                const char *text, struct config_place place, uint32_t *out,
                                struct hf_err *err)
{
    uint32_t ms = 0;

    if (number_read(draft, key, text, place, &ms, err) != HF_OK)
        return err->code;
    *out = ms * 1000; /* key->high is a second at most */
    return HF_OK;
}

/* ---- words ---- */

static bool is_agent(const char *text)
{
    const char *rest = text + strlen("fence_");

    return strlen(text) <= HF_NAME_MAX && strncmp(text, "fence_", strlen("fence_")) == 0 &&
           rest[0] != '\0' && rest[strspn(rest, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static enum hf_code word_read(const struct config_draft *draft, const struct config_key *key,
                              const char *text, struct config_place place,
                              char out[HF_NAME_MAX + 1], struct hf_err *err)
{
    if (key->type == CONFIG_AGENT && !is_agent(text))
        return fail_expected(draft, place, key, text,
                             "the name of a fence agent, such as fence_ipmilan", err);
    if (key->type != CONFIG_AGENT && !hf_str_is_name(text, HF_NAME_MAX))
        return fail_expected(draft, place, key, text,
                             "a name: up to 63 of A-Z a-z 0-9 . _ -, first a letter or digit", err);
    (void)hf_str_copy(out, HF_NAME_MAX + 1, text);
    return HF_OK;
}

static enum hf_code yes_no_read(const struct config_draft *draft, const struct config_key *key,
                                const char *text, struct config_place place, bool *out,
                                struct hf_err *err)
{
    bool is_yes = strcmp(text, "yes") == 0;

    if (!is_yes && strcmp(text, "no") != 0)
        return fail_expected(draft, place, key, text, "yes or no", err);
    *out = is_yes;
    return HF_OK;
}

/* A node of the kernel's: no way out of /dev, and nothing that a log or a shell could trip over. */
static bool is_device_path(const char *text)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    size_t len = strlen(text);

    return strncmp(text, "/dev/", 5) == 0 && len > 5 && len <= HF_DEVICE_PATH_MAX &&
           text[strspn(text, allowed)] == '\0' && strstr(text, "..") == NULL &&
           strstr(text, "//") == NULL && text[len - 1] != '/';
}

static enum hf_code device_path_read(const struct config_draft *draft, const struct config_key *key,
                                     const char *text, struct config_place place,
                                     char out[HF_DEVICE_PATH_MAX + 1], struct hf_err *err)
{
    if (!is_device_path(text))
        return fail_expected(draft, place, key, text, "a device, such as /dev/watchdog0", err);
    (void)hf_str_copy(out, HF_DEVICE_PATH_MAX + 1, text);
    return HF_OK;
}

static enum hf_code nic_read(const struct config_draft *draft, const struct config_key *key,
                             const char *text, struct config_place place,
                             char out[HF_IFNAME_MAX + 1], struct hf_err *err)
{
    if (!config_is_nic(text))
        return fail_expected(draft, place, key, text,
                             "an interface, such as enp1s0f0, or a PCI address, such as "
                             "0000:01:00.0",
                             err);
    (void)hf_str_copy(out, HF_IFNAME_MAX + 1, text);
    return HF_OK;
}

static enum hf_code address_read(const struct config_draft *draft, const struct config_key *key,
                                 const char *text, struct config_place place,
                                 char out[HF_ADDRESS_MAX + 1], struct hf_err *err)
{
    if (!config_address(text, out))
        return fail_expected(draft, place, key, text,
                             "an address of one host, such as fe80::1 or 10.1.0.1", err);
    return HF_OK;
}

/* ---- lists ---- */

/* Cut the next item of "a, b, c" out of *rest, without the blanks around it, and move on. */
static void item_next(const char **rest, struct config_place *place, char item[WORD_MAX + 1],
                      struct config_place *item_place)
{
    size_t blanks = strspn(*rest, " ");
    size_t len = strcspn(*rest + blanks, ",");
    size_t used = blanks + len;
    const char *start = *rest + blanks;

    *item_place = (struct config_place){place->line, place->column + (uint32_t)blanks};
    while (len > 0 && start[len - 1] == ' ')
        len--;
    if (len > WORD_MAX)
        len = WORD_MAX; /* still too long for any item, so still refused */
    memcpy(item, start, len);
    item[len] = '\0';
    *rest += used;
    place->column += (uint32_t)used;
}

static uint32_t items_max(enum config_type type)
{
    if (type == CONFIG_DURATIONS)
        return HF_BACKOFFS_MAX;
    return type == CONFIG_ADDRESSES ? (uint32_t)HF_NICS_PEERS_MAX : (uint32_t)HF_FENCE_DEVICES_MAX;
}

static enum hf_code item_read(const struct config_draft *draft, const struct config_key *key,
                              const char *item, struct config_place place, uint32_t count,
                              void *record, struct hf_err *err)
{
    uint32_t *ms = field(record, key->at);
    struct config_refs *refs = field(record, key->at);
    struct config_addresses *addresses = field(record, key->at);
    uint32_t max = items_max(key->type);

    if (item[0] == '\0')
        return config_fail(draft, place, err, "empty item in the list '%s'", key->name);
    if (count >= max)
        return config_fail(draft, place, err, "too many items in the list '%s': at most %u",
                           key->name, (unsigned)max);
    if (key->type == CONFIG_DURATIONS)
        return number_read(draft, key, item, place, &ms[count], err);
    if (key->type == CONFIG_ADDRESSES) {
        addresses->place[count] = place;
        return address_read(draft, key, item, place, addresses->text[count], err);
    }
    refs->place[count] = place;
    return word_read(draft, key, item, place, refs->name[count], err);
}

static enum hf_code list_read(const struct config_draft *draft, const struct config_key *key,
                              const char *text, struct config_place place, void *record,
                              struct hf_err *err)
{
    const char *rest = text;
    struct config_place item_place;
    char item[WORD_MAX + 1];
    uint8_t count = 0;

    for (;;) {
        item_next(&rest, &place, item, &item_place);
        if (item_read(draft, key, item, item_place, count, record, err) != HF_OK)
            return err->code;
        count++;
        if (*rest == '\0')
            break;
        rest++;
        place.column++;
    }
    if (key->type == CONFIG_DURATIONS)
        *(uint8_t *)field(record, key->count_at) = count;
    else if (key->type == CONFIG_ADDRESSES)
        ((struct config_addresses *)field(record, key->at))->count = count;
    else
        ((struct config_refs *)field(record, key->at))->count = count;
    return HF_OK;
}

enum hf_code config_value_read(const struct config_draft *draft, const struct config_key *key,
                               const char *text, struct config_place place, void *record,
                               struct hf_err *err)
{
    switch (key->type) {
    case CONFIG_NAME:
    case CONFIG_AGENT:
        return word_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_NUMBER:
    case CONFIG_MEMORY:
    case CONFIG_DURATION:
    case CONFIG_SECONDS:
        return number_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_BYTE:
        return byte_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_COMPUTED:
        return computed_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_MICROS:
        return micros_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_NIC:
        return nic_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_ADDRESS:
        return address_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_YES_NO:
        return yes_no_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_DEVICE_PATH:
        return device_path_read(draft, key, text, place, field(record, key->at), err);
    case CONFIG_DURATIONS:
    case CONFIG_DEVICES:
    case CONFIG_ADDRESSES:
        return list_read(draft, key, text, place, record, err);
    }
    return hf_err_set(err, HF_EINVAL, "key '%s' has no reader", key->name);
}

/* ---- printing ---- */

static void append(char out[CONFIG_LINE_MAX + 1], const char *text)
{
    size_t len = strlen(out);

    (void)snprintf(out + len, CONFIG_LINE_MAX + 1 - len, "%s%s", len > 0 ? ", " : "", text);
}

static void durations_print(const struct config_key *key, const void *record,
                            char out[CONFIG_LINE_MAX + 1])
{
    const uint32_t *ms = field_const(record, key->at);
    uint8_t count = *(const uint8_t *)field_const(record, key->count_at);
    char text[32];

    for (uint8_t i = 0; i < count && i < HF_BACKOFFS_MAX; i++) {
        number_text(key->type, ms[i], text);
        append(out, text);
    }
}

static void devices_print(const struct config_key *key, const void *record,
                          char out[CONFIG_LINE_MAX + 1])
{
    const struct config_refs *refs = field_const(record, key->at);

    for (uint8_t i = 0; i < refs->count && i < HF_FENCE_DEVICES_MAX; i++)
        append(out, refs->name[i]);
}

static void addresses_print(const struct config_key *key, const void *record,
                            char out[CONFIG_LINE_MAX + 1])
{
    const struct config_addresses *addresses = field_const(record, key->at);

    for (uint8_t i = 0; i < addresses->count && i < HF_NICS_PEERS_MAX; i++)
        append(out, addresses->text[i]);
}

void config_value_print(const struct config_key *key, const void *record,
                        char out[CONFIG_LINE_MAX + 1])
{
    const void *at = field_const(record, key->at);
    uint32_t number = 0;
    char text[32];

    out[0] = '\0';
    switch (key->type) {
    case CONFIG_NAME:
    case CONFIG_AGENT:
    case CONFIG_DEVICE_PATH:
    case CONFIG_NIC:
    case CONFIG_ADDRESS:
        append(out, at);
        break;
    case CONFIG_YES_NO:
        append(out, *(const bool *)at ? "yes" : "no");
        break;
    case CONFIG_BYTE:
        number_text(key->type, *(const uint8_t *)at, text);
        append(out, text);
        break;
    case CONFIG_NUMBER:
    case CONFIG_MEMORY:
    case CONFIG_DURATION:
    case CONFIG_SECONDS:
    case CONFIG_COMPUTED:
        number = *(const uint32_t *)at;
        number_text(key->type, number, text);
        append(out, key->type == CONFIG_COMPUTED && number == 0 ? "computed" : text);
        break;
    case CONFIG_MICROS:
        number_text(key->type, *(const uint32_t *)at / 1000, text);
        append(out, text);
        break;
    case CONFIG_ADDRESSES:
        addresses_print(key, record, out);
        break;
    case CONFIG_DURATIONS:
        durations_print(key, record, out);
        break;
    case CONFIG_DEVICES:
        devices_print(key, record, out);
        break;
    }
}
