#include "supervisord/config/internal.h"
#include "tests/unit/check.h"

#include <string.h>

static struct hf_config config;
static struct config_node node;
static struct config_fabric fabric;
static struct hf_fence_device device;
static struct hf_err err;

static void *record_of(enum config_section_id section)
{
    if (section == CONFIG_NODE)
        return &node;
    if (section == CONFIG_FABRIC)
        return &fabric;
    if (section == CONFIG_DEVICE)
        return &device;
    return &config;
}

START_TEST(every_default_is_a_good_value_in_canonical_form)
{
    const struct config_draft draft = {.file = "default", .config = &config};
    char printed[CONFIG_LINE_MAX + 1], again[CONFIG_LINE_MAX + 1];

    for (size_t i = 0; i < config_keys_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->fallback == NULL || key->fallback[0] == '\0')
            continue;
        ck_assert_msg(config_value_read(&draft, key, key->fallback, (struct config_place){1, 1},
                                        record_of(key->section), &err) == HF_OK,
                      "%s", err.text);
        config_value_print(key, record_of(key->section), printed);
        ck_assert_int_eq(config_value_read(&draft, key, printed, (struct config_place){1, 1},
                                           record_of(key->section), &err),
                         HF_OK);
        config_value_print(key, record_of(key->section), again);
        ck_assert_str_eq(printed, again);
    }
}
END_TEST

START_TEST(every_row_is_documented_and_found)
{
    for (size_t i = 0; i < config_keys_count; i++) {
        const struct config_key *key = &config_keys[i];

        ck_assert_ptr_nonnull(key->doc);
        ck_assert_uint_gt(strlen(key->doc), 10);
        ck_assert_uint_le(key->low, key->high);
        ck_assert_ptr_eq(config_key_find(key->section, key->name), key);
        ck_assert_uint_lt(config_key_slot(key), CONFIG_KEYS_MAX);
    }
    for (int i = CONFIG_TOP + 1; i < CONFIG_SECTIONS; i++) {
        ck_assert_uint_gt(strlen(config_sections[i].doc), 10);
        ck_assert_int_eq(config_section_find(config_sections[i].name), i);
    }
}
END_TEST

/* The parser's stack is as deep as the deepest section, no deeper. */
START_TEST(no_section_is_deeper_than_the_parser)
{
    int deepest = 0;

    for (int i = CONFIG_TOP + 1; i < CONFIG_SECTIONS; i++) {
        int depth = 0;

        for (int up = i; up != CONFIG_TOP && depth <= CONFIG_SECTIONS; depth++)
            up = (int)config_sections[up].parent;
        deepest = depth > deepest ? depth : deepest;
    }
    ck_assert_int_eq(deepest, CONFIG_DEPTH_MAX);
}
END_TEST

START_TEST(a_hint_is_near_or_not_given)
{
    ck_assert_str_eq(config_nearest_key(CONFIG_TIMING, "mute_aftr"), "mute_after");
    ck_assert_str_eq(config_nearest_key(CONFIG_NODE, "fence_level_5"), "fence_level_1");
    ck_assert_ptr_null(config_nearest_key(CONFIG_NODE, "x"));
    ck_assert_ptr_null(config_nearest_key(CONFIG_TIMING, "bandwidth"));
    ck_assert_ptr_null(config_nearest_key(CONFIG_CLUSTER, "beat"));
    ck_assert_str_eq(config_nearest_section(CONFIG_TOP, "nodes"), "node");
    ck_assert_ptr_null(config_nearest_section(CONFIG_TOP, "params"));
}
END_TEST

START_TEST(a_quoted_word_is_cut_between_characters)
{
    char out[CONFIG_QUOTE_MAX], word[200], want[CONFIG_QUOTE_MAX];

    ck_assert_str_eq(config_quote("abc", out), "'abc'");
    memset(word, 'x', sizeof word);
    memcpy(word + 62, "\xe4\xb8\x8a", 4);
    snprintf(want, sizeof want, "'%.62s...'", word);
    ck_assert_str_eq(config_quote(word, out), want);
}
END_TEST

HF_TEST_MAIN("config/schema", HF_CASE(every_default_is_a_good_value_in_canonical_form),
             HF_CASE(every_row_is_documented_and_found),
             HF_CASE(no_section_is_deeper_than_the_parser), HF_CASE(a_hint_is_near_or_not_given),
             HF_CASE(a_quoted_word_is_cut_between_characters))
