/* table.h - tables for people, fitted to the width of a terminal.
 * Text in, text out: no terminal, no locale, no environment. Cells are UTF-8; what is not, and
 * every control character, is shown as '?', so that nothing from outside can move the cursor. A
 * table that is too wide first wraps its last column, then cuts the columns that may be cut, then
 * leaves out columns, least important first. */
#ifndef SUPERVISORD_CTL_TABLE_H
#define SUPERVISORD_CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    TABLE_COLUMNS_MAX = 12,
    TABLE_ROWS_MAX = 4096,
    TABLE_CELL_MAX = 1023, /* bytes */
    TABLE_WIDTH_MIN = 40,
    TABLE_WIDTH_MAX = 1000,
};

enum table_style {
    TABLE_PLAIN = 0,
    TABLE_GOOD,
    TABLE_WARN,
    TABLE_BAD,
    TABLE_DIM,
    TABLE_BOLD,
    TABLE_STYLES
};

enum table_kind {
    TABLE_LEFT = 0, /* never cut */
    TABLE_RIGHT,    /* numbers; never cut */
    TABLE_CUT,      /* left; may be cut to 8 columns with an ellipsis */
    TABLE_WRAP,     /* left, last column: continues on the next line */
};

struct table_look {
    unsigned width; /* of the terminal; below TABLE_WIDTH_MIN counts as that */
    bool is_coloured;
    bool is_ascii; /* no characters beyond ASCII of our own */
    unsigned indent;
};

struct table;

/* NULL: out of memory. */
struct table *table_open(struct table_look look);
void table_close(struct table *table); /* NULL is fine */
/* importance: 0 = is never left out; higher ones go first. */
void table_column(struct table *table, const char *title, enum table_kind kind,
                  unsigned importance);
/* One cell; cells fill the rows from left to right. Text too long is cut. More than TABLE_ROWS_MAX
 * rows are counted, not shown: the print ends with how many. */
void table_cell(struct table *table, enum table_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* has_titles: a first line with the column titles. */
void table_print(const struct table *table, bool has_titles, FILE *out);

/* Columns that a text takes on a terminal. */
unsigned table_text_width(const char *text);
/* Print text wrapped at words to `width`, lines after the first indented by `indent`. */
void table_wrap(FILE *out, const char *text, unsigned width, unsigned indent);
/* The text with its style around it. */
void table_styled(FILE *out, const struct table_look *look, enum table_style style,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
