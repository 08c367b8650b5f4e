#include "supervisord/ctl/table.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAP = 2,       /* blanks between columns */
    CUT_MIN = 8,   /* a name of which less is shown tells nothing */
    WRAP_MIN = 24, /* a sentence in less is a column of words */
};

struct cell {
    char *text; /* owned; sanitised */
    unsigned width;
    enum table_style style;
};

struct column {
    const char *title;
    enum table_kind kind;
    unsigned importance;
};

struct table {
    struct table_look look;
    unsigned columns_count;
    struct column column[TABLE_COLUMNS_MAX];
    size_t cells_count, cells_cap, rows_hidden;
    struct cell *cell; /* row by row */
};

/* ---- characters ---- */

struct range {
    uint32_t from, to;
};

/* Unicode 15 EastAsianWidth W and F, and emoji shown wide, in blocks: a name that is off by one
 * costs alignment, nothing else. */
static const struct range wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

/* Combining marks, joiners and variation selectors take no column. */
static const struct range empty[] = {
    {0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

static bool is_in(const struct range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}

static uint32_t code_point(const char *text, size_t len)
{
    const unsigned char *b = (const unsigned char *)text;

    if (len == 1)
        return b[0];
    if (len == 2)
        return (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
    if (len == 3)
        return (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
    return (b[0] & 0x07u) << 18 | (b[1] & 0x3fu) << 12 | (b[2] & 0x3fu) << 6 | (b[3] & 0x3fu);
}

/* Columns of the character of `len` bytes at text. */
static unsigned char_width(const char *text, size_t len)
{
    uint32_t c = code_point(text, len);

    if (is_in(empty, sizeof empty / sizeof empty[0], c))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], c) ? 2 : 1;
}

/* Escape sequences, C1 controls and direction overrides must not reach a terminal. */
static bool is_harmless(const char *text, size_t len)
{
    uint32_t c = code_point(text, len);

    return c >= 0x20 && (c < 0x7f || c > 0x9f) && !(c >= 0x202a && c <= 0x202e) &&
           !(c >= 0x2066 && c <= 0x2069);
}

static void sanitise(char *out, size_t cap, const char *text)
{
    size_t at = 0;

    while (*text != '\0') {
        size_t len = hf_str_utf8(text);

        if (at + (len > 0 ? len : 1) >= cap)
            break;
        if (len > 0 && is_harmless(text, len)) {
            memcpy(out + at, text, len);
            at += len;
        } else {
            out[at++] = '?';
        }
        text += len > 0 ? len : 1;
    }
    out[at] = '\0';
}

unsigned table_text_width(const char *text)
{
    unsigned width = 0;

    while (*text != '\0') {
        size_t len = hf_str_utf8(text);

        width += len > 0 ? char_width(text, len) : 1;
        text += len > 0 ? len : 1;
    }
    return width;
}

/* Bytes of text that fit into `width` columns. */
static size_t fitting(const char *text, unsigned width)
{
    size_t at = 0;
    unsigned used = 0;

    while (text[at] != '\0') {
        size_t len = hf_str_utf8(text + at);
        unsigned columns = len > 0 ? char_width(text + at, len) : 1;

        if (used + columns > width)
            break;
        used += columns;
        at += len > 0 ? len : 1;
    }
    return at;
}

/* Bytes of the next line of a text to be wrapped at words; a word longer than a line is cut. */
static size_t line_len(const char *text, unsigned width)
{
    size_t fits = fitting(text, width > 0 ? width : 1);

    if (text[fits] == '\0' || text[fits] == ' ')
        return fits;
    for (size_t at = fits; at > 0; at--)
        if (text[at - 1] == ' ')
            return at - 1 > 0 ? at - 1 : fits;
    return fits > 0 ? fits : 1;
}

/* ---- building ---- */

struct table *table_open(struct table_look look)
{
    struct table *table = calloc(1, sizeof *table);

    if (table == NULL)
        return NULL;
    if (look.width < TABLE_WIDTH_MIN)
        look.width = TABLE_WIDTH_MIN;
    if (look.width > TABLE_WIDTH_MAX)
        look.width = TABLE_WIDTH_MAX;
    table->look = look;
    return table;
}

void table_close(struct table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->cells_count; i++)
        free(table->cell[i].text);
    free(table->cell);
    free(table);
}

void table_column(struct table *table, const char *title, enum table_kind kind, unsigned importance)
{
    HF_ASSERT(table->columns_count < TABLE_COLUMNS_MAX);
    HF_ASSERT(table->cells_count == 0);
    table->column[table->columns_count++] = (struct column){title, kind, importance};
}

static bool has_room(struct table *table)
{
    size_t cap = table->cells_cap > 0 ? 2 * table->cells_cap : 64;
    struct cell *grown;

    if (table->cells_count < table->cells_cap)
        return true;
    grown = realloc(table->cell, cap * sizeof *grown);
    if (grown == NULL)
        return false;
    table->cell = grown;
    table->cells_cap = cap;
    return true;
}

void table_cell(struct table *table, enum table_style style, const char *format, ...)
{
    char raw[TABLE_CELL_MAX + 1], clean[TABLE_CELL_MAX + 1];
    struct cell *cell;
    va_list args;

    HF_ASSERT(table->columns_count > 0);
    if (table->cells_count >= (size_t)TABLE_ROWS_MAX * table->columns_count || !has_room(table)) {
        table->rows_hidden++;
        return;
    }
    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    sanitise(clean, sizeof clean, raw);
    cell = &table->cell[table->cells_count];
    cell->text = strdup(clean);
    if (cell->text == NULL) {
        table->rows_hidden++;
        return;
    }
    cell->width = table_text_width(clean);
    cell->style = style;
    table->cells_count++;
}

/* ---- fitting ---- */

struct layout {
    unsigned width[TABLE_COLUMNS_MAX]; /* 0: left out */
};

static unsigned total(const struct table *table, const struct layout *layout)
{
    unsigned sum = table->look.indent;
    bool is_first = true;

    for (unsigned c = 0; c < table->columns_count; c++) {
        if (layout->width[c] == 0)
            continue;
        sum += layout->width[c] + (is_first ? 0 : GAP);
        is_first = false;
    }
    return sum;
}

static void shrink(const struct table *table, struct layout *layout, enum table_kind kind,
                   unsigned least)
{
    for (unsigned c = table->columns_count; c-- > 0;) {
        unsigned sum = total(table, layout);
        unsigned excess = sum > table->look.width ? sum - table->look.width : 0;
        unsigned room = layout->width[c] > least ? layout->width[c] - least : 0;

        if (table->column[c].kind == kind)
            layout->width[c] -= excess < room ? excess : room;
    }
}

static bool leave_one_out(const struct table *table, struct layout *layout)
{
    unsigned worst = TABLE_COLUMNS_MAX;

    for (unsigned c = 0; c < table->columns_count; c++) {
        if (layout->width[c] == 0 || table->column[c].importance == 0)
            continue;
        if (worst == TABLE_COLUMNS_MAX ||
            table->column[c].importance >= table->column[worst].importance)
            worst = c;
    }
    if (worst == TABLE_COLUMNS_MAX)
        return false;
    layout->width[worst] = 0;
    return true;
}

static void natural(const struct table *table, bool has_titles, struct layout *layout)
{
    for (unsigned c = 0; c < table->columns_count; c++) {
        unsigned width = has_titles ? table_text_width(table->column[c].title) : 0;

        for (size_t i = c; i < table->cells_count; i += table->columns_count)
            if (table->cell[i].width > width)
                width = table->cell[i].width;
        layout->width[c] = width;
    }
}

static void fit(const struct table *table, bool has_titles, struct layout *layout)
{
    struct layout all;

    natural(table, has_titles, &all);
    *layout = all;
    for (;;) {
        for (unsigned c = 0; c < table->columns_count; c++)
            if (layout->width[c] != 0)
                layout->width[c] = all.width[c];
        shrink(table, layout, TABLE_WRAP, WRAP_MIN);
        shrink(table, layout, TABLE_CUT, CUT_MIN);
        if (total(table, layout) <= table->look.width || !leave_one_out(table, layout))
            return;
    }
}

/* ---- printing ---- */

static const char *const styles[TABLE_STYLES] = {
    [TABLE_PLAIN] = "",         [TABLE_GOOD] = "\033[32m", [TABLE_WARN] = "\033[33m",
    [TABLE_BAD] = "\033[31;1m", [TABLE_DIM] = "\033[2m",   [TABLE_BOLD] = "\033[1m",
};

static void put_styled(FILE *out, bool is_coloured, enum table_style style, const char *text,
                       size_t len)
{
    bool is_on = is_coloured && style != TABLE_PLAIN;

    (void)fprintf(out, "%s%.*s%s", is_on ? styles[style] : "", (int)len, text,
                  is_on ? "\033[0m" : "");
}

static void put_blanks(FILE *out, unsigned count)
{
    (void)fprintf(out, "%*s", (int)count, "");
}

static unsigned width_of(const char *text, size_t len)
{
    unsigned width = 0;

    for (size_t at = 0; at < len;) {
        size_t bytes = hf_str_utf8(text + at);

        width += bytes > 0 ? char_width(text + at, bytes) : 1;
        at += bytes > 0 ? bytes : 1;
    }
    return width;
}

static void put_cell(FILE *out, const struct table *table, const struct column *column,
                     unsigned width, const char *text, enum table_style style, bool is_last)
{
    const char *ellipsis = table->look.is_ascii ? "~" : "\u2026";
    bool is_cut = table_text_width(text) > width;
    size_t len = is_cut ? fitting(text, width - 1) : strlen(text);
    unsigned used = width_of(text, len) + (is_cut ? 1 : 0);
    unsigned rest = width > used ? width - used : 0;

    if (column->kind == TABLE_RIGHT)
        put_blanks(out, rest);
    put_styled(out, table->look.is_coloured, style, text, len);
    if (is_cut)
        (void)fputs(ellipsis, out);
    if (column->kind != TABLE_RIGHT && !is_last)
        put_blanks(out, rest);
}

/* The last column, over as many lines as it takes. */
static void put_wrapped(FILE *out, const struct table *table, const struct cell *cell,
                        unsigned width, unsigned column_at)
{
    const char *text = cell->text;

    for (bool is_first = true; is_first || *text != '\0'; is_first = false) {
        size_t len = line_len(text, width);

        if (!is_first) {
            (void)fputc('\n', out);
            put_blanks(out, column_at);
        }
        put_styled(out, table->look.is_coloured, cell->style, text, len);
        text += len;
        while (*text == ' ')
            text++;
    }
}

static bool column_is_titled(const struct table *table, unsigned c)
{
    return table->column[c].title[0] != '\0';
}

static void put_row(FILE *out, const struct table *table, const struct layout *layout,
                    const struct cell *row)
{
    unsigned at = table->look.indent, last = 0;

    for (unsigned c = 0; c < table->columns_count; c++)
        if (layout->width[c] > 0 && (row == NULL ? column_is_titled(table, c) : row[c].width > 0))
            last = c;
    put_blanks(out, table->look.indent);
    for (unsigned c = 0; c <= last; c++) {
        const struct column *column = &table->column[c];
        unsigned width = layout->width[c];

        if (width == 0)
            continue;
        if (at > table->look.indent) {
            put_blanks(out, GAP);
            at += GAP;
        }
        if (row == NULL)
            put_cell(out, table, column, width, column->title, TABLE_DIM, c == last);
        else if (column->kind == TABLE_WRAP)
            put_wrapped(out, table, &row[c], width, at);
        else
            put_cell(out, table, column, width, row[c].text, row[c].style, c == last);
        at += width;
    }
    (void)fputc('\n', out);
}

void table_print(const struct table *table, bool has_titles, FILE *out)
{
    struct layout layout;

    fit(table, has_titles, &layout);
    if (has_titles)
        put_row(out, table, &layout, NULL);
    for (size_t i = 0; i + table->columns_count <= table->cells_count; i += table->columns_count)
        put_row(out, table, &layout, &table->cell[i]);
    if (table->rows_hidden > 0) {
        put_blanks(out, table->look.indent);
        (void)fprintf(out, "and %zu more\n",
                      (table->rows_hidden + table->columns_count - 1) / table->columns_count);
    }
}

void table_wrap(FILE *out, const char *text, unsigned width, unsigned indent)
{
    char *clean = malloc(strlen(text) + 1);
    const char *at = clean;

    if (clean == NULL)
        return;
    sanitise(clean, strlen(text) + 1, text);
    for (bool is_first = true; is_first || *at != '\0'; is_first = false) {
        size_t len = line_len(at, width > indent ? width - indent : 1);

        if (!is_first)
            put_blanks(out, indent);
        (void)fprintf(out, "%.*s\n", (int)len, at);
        at += len;
        while (*at == ' ')
            at++;
    }
    free(clean);
}

void table_styled(FILE *out, const struct table_look *look, enum table_style style,
                  const char *format, ...)
{
    char raw[TABLE_CELL_MAX + 1], clean[TABLE_CELL_MAX + 1];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    sanitise(clean, sizeof clean, raw);
    put_styled(out, look->is_coloured, style, clean, strlen(clean));
}
