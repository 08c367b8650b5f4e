#include "supervisord/base/log.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Each case runs in its own process, so its stderr may be replaced for good. */
static int listen_to_stderr(void)
{
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    ck_assert_int_eq(close(fds[1]), 0);
    return fds[0];
}

/* What was written so far; "" if nothing. */
static const char *heard(int fd)
{
    static char text[4096];
    ssize_t len;

    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    len = read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

START_TEST(a_line_has_time_program_level_and_text)
{
    int fd = listen_to_stderr();
    unsigned year, month, day, hour, minute, second, ms;
    const char *line;
    int text_at = 0;

    hf_log_open("holdfastd", HF_LOG_INFO, false);
    hf_error("vm=%s node=%d", "mq-1", 2);
    line = heard(fd);
    ck_assert_int_eq(sscanf(line, "%4u-%2u-%2uT%2u:%2u:%2u.%3uZ %n", &year, &month, &day, &hour,
                            &minute, &second, &ms, &text_at),
                     7);
    ck_assert_uint_gt(year, 2024);
    ck_assert_int_eq(text_at, 25);
    ck_assert_str_eq(line + text_at, "holdfastd ERROR vm=mq-1 node=2\n");
}
END_TEST

START_TEST(every_level_has_its_word)
{
    static const enum hf_level levels[] = {HF_LOG_ERROR, HF_LOG_WARNING, HF_LOG_INFO, HF_LOG_DEBUG};
    static const char *const words[] = {" x ERROR t\n", " x WARNING t\n", " x INFO t\n",
                                        " x DEBUG t\n"};
    int fd = listen_to_stderr();

    hf_log_open("x", HF_LOG_DEBUG, false);
    hf_log(levels[_i], "t");
    ck_assert_str_eq(heard(fd) + strlen("2026-01-31T12:00:00.000Z"), words[_i]);
}
END_TEST

START_TEST(journald_gets_the_level_as_a_number)
{
    int fd = listen_to_stderr();

    hf_log_open("holdfastd", HF_LOG_DEBUG, true);
    hf_error("e");
    hf_warning("w");
    hf_info("i");
    hf_debug("d");
    ck_assert_str_eq(heard(fd), "<3>e\n<4>w\n<6>i\n<7>d\n");
}
END_TEST

START_TEST(less_important_lines_are_not_shown)
{
    int fd = listen_to_stderr();

    hf_log_open("x", HF_LOG_WARNING, true);
    hf_error("e");
    hf_warning("w");
    hf_info("i");
    hf_debug("d");
    ck_assert_str_eq(heard(fd), "<3>e\n<4>w\n");
}
END_TEST

START_TEST(one_call_is_one_line_whatever_is_in_it)
{
    int fd = listen_to_stderr();

    hf_log_open("x", HF_LOG_INFO, true);
    hf_info("a\nb\r\t\x1b[31m\x7f \xff \xc2\x9b \xc3\xa4%s", "\n<3>forged");
    ck_assert_str_eq(heard(fd), "<6>a\\x0ab\\x0d\\x09\\x1b[31m\\x7f \\xff \\xc2\\x9b "
                                "\xc3\xa4\\x0a<3>forged\n");
}
END_TEST

/* _i: lengths around the limit. */
START_TEST(a_long_line_is_cut_at_500_bytes)
{
    int fd = listen_to_stderr();
    char text[1000];
    size_t room = 500 - strlen("<6>") - strlen("...\n");
    const char *line;

    memset(text, 'x', sizeof text);
    text[_i] = '\0';
    hf_log_open("x", HF_LOG_INFO, true);
    hf_info("%s", text);
    line = heard(fd);
    ck_assert_uint_le(strlen(line), 500);
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    ck_assert_int_eq(strstr(line, "...\n") != NULL, (size_t)_i > room);
    if ((size_t)_i <= room)
        ck_assert_uint_eq(strlen(line), (size_t)_i + 4);
}
END_TEST

/* _i: shifts, so that the cut falls on each byte of the character. */
START_TEST(a_cut_does_not_split_a_character_or_an_escape)
{
    int fd = listen_to_stderr();
    char text[800] = "";
    const char *line;
    size_t end;

    hf_log_open("x", HF_LOG_INFO, true);
    memset(text, 'x', (size_t)_i);
    for (size_t at = (size_t)_i; at + 3 < sizeof text; at += 3)
        memcpy(text + at, "\xe2\x82\xac", 4);
    hf_info("%s", text);
    line = heard(fd);
    end = strlen(line) - strlen("...\n");
    ck_assert_uint_gt(end, 485);
    ck_assert_int_eq(strcmp(line + end - 3, "\xe2\x82\xac...\n"), 0);

    memset(text + _i, '\x01', sizeof text - 1 - (size_t)_i);
    text[sizeof text - 1] = '\0';
    hf_info("%s", text);
    line = heard(fd);
    end = strlen(line) - strlen("...\n");
    ck_assert_uint_gt(end, 485);
    ck_assert_int_eq(strcmp(line + end - 4, "\\x01...\n"), 0);
}
END_TEST

static void fill(int fd)
{
    static const char block[4096];
    int flags = fcntl(fd, F_GETFL);

    ck_assert_int_eq(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
    for (size_t size = sizeof block; size > 0; size /= 2)
        while (write(fd, block, size) > 0)
            continue;
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(fcntl(fd, F_SETFL, flags), 0);
}

static void drain(int fd)
{
    static char block[65536];

    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (read(fd, block, sizeof block) > 0)
        continue;
}

/* That hf_log() comes back at all is the test: the case's time limit would catch it waiting. */
static void expect_lost_lines_are_told(int fd)
{
    int flags = fcntl(STDERR_FILENO, F_GETFL);

    hf_log_open("x", HF_LOG_INFO, true);
    fill(STDERR_FILENO);
    for (int i = 0; i < 7; i++)
        hf_info("lost %d", i);
    ck_assert_int_eq(fcntl(STDERR_FILENO, F_GETFL), flags);
    drain(fd);
    hf_info("found");
    ck_assert_str_eq(heard(fd), "<4>log: 7 lines lost, stderr was full\n<6>found\n");
    hf_info("again");
    ck_assert_str_eq(heard(fd), "<6>again\n");
}

START_TEST(a_full_pipe_costs_the_line_and_is_told_later)
{
    expect_lost_lines_are_told(listen_to_stderr());
}
END_TEST

START_TEST(a_full_socket_costs_the_line_and_is_told_later)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    expect_lost_lines_are_told(fds[0]);
}
END_TEST

START_TEST(a_reader_that_is_gone_does_no_harm)
{
    int fd = listen_to_stderr();

    signal(SIGPIPE, SIG_DFL);
    hf_log_open("x", HF_LOG_INFO, true);
    close(fd);
    hf_info("nobody hears this");
    close(STDERR_FILENO);
    hf_info("nor this");
}
END_TEST

START_TEST(a_file_is_written_to)
{
    FILE *file = tmpfile();
    char text[100] = "";

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    hf_log_open("x", HF_LOG_INFO, true);
    hf_info("kept");
    ck_assert_int_eq(pread(fileno(file), text, sizeof text - 1, 0), 8);
    ck_assert_str_eq(text, "<6>kept\n");
}
END_TEST

START_TEST(errno_is_kept)
{
    int fd = listen_to_stderr();

    hf_log_open("x", HF_LOG_INFO, true);
    errno = ENOTDIR;
    hf_info("a");
    ck_assert_int_eq(errno, ENOTDIR);
    close(fd);
    errno = ENOTDIR;
    hf_info("b");
    ck_assert_int_eq(errno, ENOTDIR);
}
END_TEST

HF_TEST_MAIN("base/log",
             HF_CASE(a_line_has_time_program_level_and_text),
             HF_LOOP(every_level_has_its_word, 0, 4),
             HF_CASE(journald_gets_the_level_as_a_number),
             HF_CASE(less_important_lines_are_not_shown),
             HF_CASE(one_call_is_one_line_whatever_is_in_it),
             HF_LOOP(a_long_line_is_cut_at_500_bytes, 485, 520),
             HF_LOOP(a_cut_does_not_split_a_character_or_an_escape, 0, 5),
             HF_CASE(a_full_pipe_costs_the_line_and_is_told_later),
             HF_CASE(a_full_socket_costs_the_line_and_is_told_later),
             HF_CASE(a_reader_that_is_gone_does_no_harm),
             HF_CASE(a_file_is_written_to),
             HF_CASE(errno_is_kept))
