/* corpus_main.c - replays a fuzz target's corpus in a normal build: every file, every prefix of it
 * and every file with one byte set to 0x00, 0xff or inverted, plus a few plain inputs. What the
 * fuzzer once found stays found, without clang.
 * An empty or missing folder is allowed: the plain inputs still run. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_MAX = 1 << 20, /* our largest message is 64 KiB, a domain XML 1 MiB */
    STEPS_MAX = 512,    /* mutated places per file: keeps a corpus run within seconds */
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* The target sees a copy of exactly len bytes, so that a sanitizer catches a read past the end. */
static void feed(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);

    if (copy == NULL)
        abort();
    if (len > 0)
        memcpy(copy, bytes, len);
    (void)LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

static void feed_variants(uint8_t *bytes, size_t len)
{
    size_t step = len / STEPS_MAX + 1;

    feed(bytes, len);
    for (size_t at = 0; at < len; at += step) {
        uint8_t was = bytes[at];

        feed(bytes, at);
        bytes[at] = 0x00;
        feed(bytes, len);
        bytes[at] = 0xff;
        feed(bytes, len);
        bytes[at] = (uint8_t)~was;
        feed(bytes, len);
        bytes[at] = was;
    }
}

static void feed_plain(void)
{
    uint8_t bytes[256];

    feed(bytes, 0);
    for (size_t len = 1; len <= sizeof bytes; len *= 2) {
        memset(bytes, 0x00, sizeof bytes);
        feed(bytes, len);
        memset(bytes, 0xff, sizeof bytes);
        feed(bytes, len);
        memset(bytes, '{', sizeof bytes);
        feed(bytes, len);
    }
}

static bool feed_file(const char *folder, const char *name, uint8_t *bytes)
{
    char path[4096];
    size_t len;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    file = fopen(path, "rb");
    if (file == NULL)
        return false;
    len = fread(bytes, 1, FILE_MAX, file);
    if (ferror(file) || !feof(file)) {
        fclose(file);
        return false;
    }
    fclose(file);
    feed_variants(bytes, len);
    return true;
}

int main(int argc, char **argv)
{
    unsigned files = 0, failed = 0;
    const struct dirent *entry;
    uint8_t *bytes;
    DIR *folder;

    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    bytes = malloc(FILE_MAX);
    if (bytes == NULL)
        return 2;
    folder = opendir(argv[1]);
    feed_plain();
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        files++;
        if (!feed_file(argv[1], entry->d_name, bytes)) {
            fprintf(stderr, "%s/%s: cannot be read, or is larger than %d bytes\n", argv[1],
                    entry->d_name, (int)FILE_MAX);
            failed++;
        }
    }
    if (folder != NULL)
        closedir(folder);
    free(bytes);
    printf("%u corpus files replayed\n", files);
    return failed == 0 ? 0 : 1;
}
