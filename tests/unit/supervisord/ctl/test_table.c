#include "supervisord/ctl/table.h"
#include "tests/unit/check.h"

#include <string.h>

static char *text;
static size_t text_len;

/* A table as `nodes` makes it, with a name of wide characters. */
static struct table *sample(unsigned width, bool is_coloured)
{
    struct table *t = table_open((struct table_look){width, is_coloured, false, 0});

    table_column(t, "node", TABLE_CUT, 0);
    table_column(t, "state", TABLE_LEFT, 0);
    table_column(t, "since", TABLE_RIGHT, 1);
    table_column(t, "free memory", TABLE_RIGHT, 2);
    table_column(t, "why", TABLE_WRAP, 0);
    table_cell(t, TABLE_BOLD, "%s", "n1");
    table_cell(t, TABLE_GOOD, "%s", "member");
    table_cell(t, TABLE_PLAIN, "%s", "12 d");
    table_cell(t, TABLE_PLAIN, "%s", "63 GiB of 64 GiB");
    table_cell(t, TABLE_DIM, "%s", "it has told which VMs run there");
    table_cell(t, TABLE_BOLD, "%s", "交易一号-zürich");
    table_cell(t, TABLE_BAD, "%s", "lost");
    table_cell(t, TABLE_PLAIN, "%s", "100 s");
    table_cell(t, TABLE_PLAIN, "%s", "-");
    table_cell(t, TABLE_DIM, "%s", "its host left the ring without proof of death");
    return t;
}

static const char *printed(struct table *t, bool has_titles)
{
    FILE *out;

    free(text);
    out = open_memstream(&text, &text_len);
    table_print(t, has_titles, out);
    fclose(out);
    table_close(t);
    return text;
}

START_TEST(at_120_columns_all_is_on_one_line)
{
    ck_assert_str_eq(
        printed(sample(120, false), true),
        "node             state   since       free memory  why\n"
        "n1               member   12 d  63 GiB of 64 GiB  it has told which VMs run there\n"
        "交易一号-zürich  lost    100 s                 -  its host left the ring without proof of "
        "death\n");
}
END_TEST

START_TEST(at_80_columns_the_sentence_wraps_under_itself)
{
    ck_assert_str_eq(
        printed(sample(80, false), true),
        "node             state   since       free memory  why\n"
        "n1               member   12 d  63 GiB of 64 GiB  it has told which VMs run\n"
        "                                                  there\n"
        "交易一号-zürich  lost    100 s                 -  its host left the ring without\n"
        "                                                  proof of death\n");
}
END_TEST

START_TEST(at_60_columns_names_are_cut_and_a_column_goes)
{
    ck_assert_str_eq(printed(sample(60, false), true),
                     "node             state   since  why\n"
                     "n1               member   12 d  it has told which VMs run\n"
                     "                                there\n"
                     "交易一号-zürich  lost    100 s  its host left the ring\n"
                     "                                without proof of death\n");
}
END_TEST

START_TEST(at_40_columns_what_matters_least_is_gone)
{
    ck_assert_str_eq(printed(sample(10, false), true),
                     "node      state   why\n"
                     "n1        member  it has told which VMs\n"
                     "                  run there\n"
                     "交易一…   lost    its host left the ring\n"
                     "                  without proof of death\n");
}
END_TEST

START_TEST(no_line_is_wider_than_the_terminal)
{
    const char *at = printed(sample((unsigned)_i, false), true);

    while (*at != '\0') {
        size_t len = strcspn(at, "\n");
        char line[1024];

        ck_assert_uint_lt(len, sizeof line);
        memcpy(line, at, len);
        line[len] = '\0';
        ck_assert_uint_le(table_text_width(line), (unsigned)_i);
        ck_assert(len == 0 || line[len - 1] != ' ');
        at += len + 1;
    }
}
END_TEST

START_TEST(colour_changes_no_width)
{
    const char *at = printed(sample(120, true), false);

    ck_assert_int_eq(strncmp(at, "\033[1mn1\033[0m               \033[32mmember\033[0m   12 d", 40),
                     0);
}
END_TEST

START_TEST(nothing_from_outside_moves_the_cursor)
{
    struct table *t = table_open((struct table_look){80, false, false, 2});

    table_column(t, "x", TABLE_LEFT, 0);
    table_cell(t, TABLE_PLAIN, "%s", "a\033[2Jb\nc\x7f\xc2\x9b\xff\xe2\x80\xae!");
    ck_assert_str_eq(printed(t, false), "  a?[2Jb?c"
                                        "?"
                                        "?"
                                        "?"
                                        "?"
                                        "!\n");
}
END_TEST

START_TEST(rows_beyond_the_limit_are_counted)
{
    struct table *t = table_open((struct table_look){80, false, false, 0});
    const char *at;

    table_column(t, "a", TABLE_LEFT, 0);
    table_column(t, "b", TABLE_LEFT, 0);
    for (unsigned i = 0; i < 2 * (TABLE_ROWS_MAX + 3); i++)
        table_cell(t, TABLE_PLAIN, "%u", i);
    at = printed(t, false);
    ck_assert_ptr_nonnull(strstr(at, "\nand 3 more\n"));
}
END_TEST

START_TEST(a_word_longer_than_the_line_is_cut_not_lost)
{
    FILE *out = open_memstream(&text, &text_len);

    table_wrap(out, "see /a/very/long/path/that/does/not/fit now", 20, 4);
    fclose(out);
    ck_assert_str_eq(text, "see\n    /a/very/long/pat\n    h/that/does/not/\n    fit now\n");
}
END_TEST

START_TEST(widths_of_characters)
{
    ck_assert_uint_eq(table_text_width("abc"), 3);
    ck_assert_uint_eq(table_text_width("\u00fc"), 1);
    ck_assert_uint_eq(table_text_width("u\u0308"), 1);
    ck_assert_uint_eq(table_text_width("\u4ea4"), 2);
    ck_assert_uint_eq(table_text_width("\U0001f600"), 2);
    ck_assert_uint_eq(table_text_width("\xff"), 1);
    ck_assert_uint_eq(table_text_width(""), 0);
}
END_TEST

START_TEST(a_cell_before_any_column_aborts)
{
    table_cell(table_open((struct table_look){80, false, false, 0}), TABLE_PLAIN, "%s", "x");
}
END_TEST

HF_TEST_MAIN("ctl/table", HF_CASE(at_120_columns_all_is_on_one_line),
             HF_CASE(at_80_columns_the_sentence_wraps_under_itself),
             HF_CASE(at_60_columns_names_are_cut_and_a_column_goes),
             HF_CASE(at_40_columns_what_matters_least_is_gone),
             HF_LOOP(no_line_is_wider_than_the_terminal, 45, 130), HF_CASE(colour_changes_no_width),
             HF_CASE(nothing_from_outside_moves_the_cursor),
             HF_CASE(rows_beyond_the_limit_are_counted),
             HF_CASE(a_word_longer_than_the_line_is_cut_not_lost), HF_CASE(widths_of_characters),
             HF_ABORTS(a_cell_before_any_column_aborts))
