#include "fencing/verdict.h"

#include <string.h>

#include "fencing/proof.h"
#include "supervisord/base/assert.h"

/* fence-agents' library (fencing.py). Its fail() ends with 1 whatever went wrong; agents of other
 * families use the numbers. */
enum {
    EXIT_GENERIC = 1,
    EXIT_LOGIN_DENIED = 3,
    EXIT_CONNECTION_LOST = 4,
    EXIT_TIMED_OUT = 5,
    EXIT_STATUS = 8,
    EXIT_STATUS_HMC = 9,
    EXIT_PASSWORD_MISSING = 10,
    EXIT_PRIVILEGES = 11,
};

/* In the words of fence-agents 4.12, ipmitool 1.8.19 and curl 7.88, in lower case. Looked through
 * from the top: a refused connection to a host called "login" is still a refused connection. */
static const struct word {
    const char *text;
    enum hf_path path;
} words[] = {
    {"timed out", HF_PATH_UNREACHABLE},
    {"connection refused", HF_PATH_UNREACHABLE},
    {"connection lost", HF_PATH_UNREACHABLE},
    {"connection reset", HF_PATH_UNREACHABLE},
    {"no route to host", HF_PATH_UNREACHABLE},
    {"unreachable", HF_PATH_UNREACHABLE},
    {"host is down", HF_PATH_UNREACHABLE},
    {"could not resolve", HF_PATH_UNREACHABLE},
    {"name or service not known", HF_PATH_UNREACHABLE},
    {"address lookup", HF_PATH_UNREACHABLE},
    {"failed to connect", HF_PATH_UNREACHABLE},
    {"couldn't connect", HF_PATH_UNREACHABLE},
    {"max retries exceeded", HF_PATH_UNREACHABLE},
    {"get auth capabilities", HF_PATH_UNREACHABLE},
    {"get channel auth", HF_PATH_UNREACHABLE},
    {"no response", HF_PATH_UNREACHABLE},
    {"login", HF_PATH_DENIED},
    {"password", HF_PATH_DENIED},
    {"privilege", HF_PATH_DENIED},
    {"unauthorized", HF_PATH_DENIED},
    {"denied", HF_PATH_DENIED},
    {"authentication", HF_PATH_DENIED},
    {"hmac is invalid", HF_PATH_DENIED},
    {"rakp 2 message indicates", HF_PATH_DENIED},
    {"invalid user name", HF_PATH_DENIED},
    {"activate session", HF_PATH_DENIED},
    {"returned error: 401", HF_PATH_DENIED},
    {"returned error: 403", HF_PATH_DENIED},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_word(const char *text, size_t len, const char *word)
{
    size_t word_len = strlen(word);

    for (size_t at = 0; at + word_len <= len; at++) {
        size_t same = 0;

        while (same < word_len && lower(text[at + same]) == word[same])
            same++;
        if (same == word_len)
            return true;
    }
    return false;
}

static enum hf_path by_words(const struct verdict_run *run)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (has_word(run->errors, run->errors_len, words[i].text) ||
            has_word(run->out, run->out_len, words[i].text))
            return words[i].path;
    }
    return HF_PATH_UNKNOWN;
}

static bool is_catch_all(int code)
{
    return code == EXIT_GENERIC || code == EXIT_STATUS || code == EXIT_STATUS_HMC;
}

static enum hf_path of_exit(const struct verdict_run *run)
{
    enum hf_path said;

    if (proof_status(run->code, run->out, run->out_len) != PROOF_UNREADABLE)
        return HF_PATH_OK;
    if (run->code == EXIT_LOGIN_DENIED || run->code == EXIT_PASSWORD_MISSING ||
        run->code == EXIT_PRIVILEGES)
        return HF_PATH_DENIED;
    if (run->code == EXIT_CONNECTION_LOST || run->code == EXIT_TIMED_OUT)
        return HF_PATH_UNREACHABLE;
    said = is_catch_all(run->code) ? by_words(run) : HF_PATH_UNKNOWN;
    return said != HF_PATH_UNKNOWN ? said : HF_PATH_BROKEN;
}

enum hf_path verdict_of_status(const struct verdict_run *run)
{
    switch (run->end) {
    case EXEC_EXITED:
        return of_exit(run);
    case EXEC_LATE:
        return HF_PATH_UNREACHABLE;
    case EXEC_SIGNALED:
    case EXEC_FLOODED:
        return HF_PATH_BROKEN;
    case EXEC_NEVER:
    case EXEC_RUNNING:
    case EXEC_KILLED: /* by us, for something more urgent */
        return HF_PATH_UNKNOWN;
    case EXEC_ENDS:
        break;
    }
    HF_NEVER("an end of a run without a verdict");
}

bool verdict_is_vague(const struct verdict_run *run)
{
    return run->end == EXEC_EXITED && is_catch_all(run->code) && of_exit(run) == HF_PATH_BROKEN;
}

enum hf_path verdict_of_question(const struct verdict_run *run)
{
    if (run->end == EXEC_LATE)
        return HF_PATH_UNREACHABLE;
    return run->end == EXEC_EXITED && run->code != 0 ? by_words(run) : HF_PATH_UNKNOWN;
}

enum hf_path verdict_of_error(enum hf_code code)
{
    switch (code) {
    case HF_EINVAL:
    case HF_ENOENT:
    case HF_EACCESS:
    case HF_EFULL:
    case HF_EBAD:
        return HF_PATH_BROKEN;
    case HF_OK:
    case HF_EIO:
    case HF_EAGAIN:
    case HF_ECLOSED:
    case HF_ETIME:
        return HF_PATH_UNKNOWN;
    case HF_CODES:
        break;
    }
    HF_NEVER("an error without a verdict");
}

/* "privlvl" of fence_ipmilan; '-' and '_' are one character to the agents. */
const char *verdict_privilege(const struct exec_param *params, size_t params_count)
{
    for (size_t i = 0; i < params_count; i++) {
        if (strcmp(params[i].key, "privlvl") != 0)
            continue;
        if (strcmp(params[i].value, "user") == 0)
            return "privlvl user can read the power, not switch it off";
        if (strcmp(params[i].value, "callback") == 0)
            return "privlvl callback can neither read nor switch the power";
    }
    return NULL;
}

static bool is_failure(enum hf_path path)
{
    return path != HF_PATH_OK && path != HF_PATH_UNKNOWN;
}

struct verdict_level verdict_of_level(const struct verdict_device *devices, uint8_t devices_count)
{
    struct verdict_level level = {.found = HF_PATH_OK};
    bool has_host = false;
    uint8_t teller = 0;

    HF_ASSERT(devices_count >= 1);
    HF_ASSERT(devices_count <= HF_FENCE_DEVICES_MAX);
    for (uint8_t i = 0; i < devices_count; i++) {
        if (!is_failure(level.found) && devices[i].found != HF_PATH_OK &&
            (level.found == HF_PATH_OK || is_failure(devices[i].found))) {
            level.found = devices[i].found;
            level.device = i;
        }
        if (devices[i].hardware == 0)
            continue;
        if (!has_host) {
            has_host = true;
            teller = i;
            level.hardware = devices[i].hardware;
        } else if (!level.is_torn && devices[i].hardware != level.hardware) {
            level.is_torn = true;
            level.other = i;
        }
    }
    if (level.is_torn) { /* one of them would shoot somebody else: nothing is worse */
        level.found = HF_PATH_BROKEN;
        level.device = teller;
    }
    return level;
}
