#include "tests/fakes/libvirt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "fake libvirt: %s: %s\n", what, strerror(errno));
        abort();
    }
}

/* ---- processes ---- */

static void copy_shell(const struct fake_libvirt *fake)
{
    char path[200];
    struct stat st;
    int from = open("/bin/sh", O_RDONLY | O_CLOEXEC), to;

    (void)snprintf(path, sizeof path, "%s/qemu-fake", fake->folder);
    to = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
    must(from >= 0 && to >= 0 && fstat(from, &st) == 0, "open the shell");
    must(sendfile(to, from, NULL, (size_t)st.st_size) == st.st_size, "copy the shell");
    close(from);
    close(to);
}

static void write_file(const struct fake_libvirt *fake, const char *name, const char *ending,
                       const char *text)
{
    char path[300];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s.%s", fake->folder, name, ending);
    file = fopen(path, "we");
    must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

pid_t fake_qemu(struct fake_libvirt *fake, const char *name, const char *xml)
{
    char path[200], guest[100], number[32];
    const char *script = fake->ignores_term ? "trap '' TERM; echo; read x"
                                            : "trap 'exit 0' TERM; echo; read x";
    char *argv[] = {path, (char *)(uintptr_t)"-c", (char *)(uintptr_t)script,
                    (char *)(uintptr_t)"-name", guest, NULL};
    posix_spawn_file_actions_t actions;
    int ready[2];
    char line;
    pid_t pid;

    must(fake->qemus_count < FAKE_QEMUS_MAX, "too many qemus");
    (void)snprintf(path, sizeof path, "%s/qemu-fake", fake->folder);
    (void)snprintf(guest, sizeof guest, "guest=%s,debug-threads=on", name);
    must(pipe2(ready, O_CLOEXEC) == 0, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ready[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fake->stdin_pipe[0], 0);
    must(posix_spawn(&pid, path, &actions, NULL, argv, environ) == 0, "spawn");
    posix_spawn_file_actions_destroy(&actions);
    must(read(ready[0], &line, 1) == 1, "the shell is ready"); /* its trap is set */
    close(ready[0]);
    close(ready[1]);
    fake->qemu[fake->qemus_count++] = pid;
    if (xml != NULL)
        write_file(fake, name, "xml", xml);
    (void)snprintf(number, sizeof number, "%d", (int)pid);
    write_file(fake, name, "pid", number);
    return pid;
}

/* libvirt's status file of a domain it made, with the state of its guest. */
static void write_status(const struct fake_libvirt *fake, const char *name, pid_t pid,
                         const char *state, const char *domain)
{
    const char *body = strstr(domain, "<domain");
    char text[4096];
    int len;

    must(body != NULL, domain);
    len = snprintf(text, sizeof text, "<domstatus state='%s' pid='%d'>%s</domstatus>", state,
                   (int)pid, body);
    must(len > 0 && (size_t)len < sizeof text, "a status file");
    write_file(fake, name, "xml", text);
}

pid_t fake_made(struct fake_libvirt *fake, const char *name, const char *domain)
{
    pid_t pid = fake_qemu(fake, name, NULL);

    write_status(fake, name, pid, "paused' reason='user", domain);
    return pid;
}

void fake_runs(const struct fake_libvirt *fake, const char *name, pid_t pid)
{
    char path[300], text[4096];
    char *end;
    FILE *file;
    size_t len;

    (void)snprintf(path, sizeof path, "%s/%s.xml", fake->folder, name);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    end = strstr(text, "</domstatus>");
    if (end == NULL)
        return; /* a domain that no libvirt of this test made */
    *end = '\0';
    write_status(fake, name, pid, "running' reason='unpaused", text);
}

static pid_t pid_of(const struct fake_libvirt *fake, const char *name)
{
    char path[300];
    FILE *file;
    int pid = 0;

    (void)snprintf(path, sizeof path, "%s/%s.pid", fake->folder, name);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    must(fscanf(file, "%d", &pid) == 1, path);
    fclose(file);
    return kill(pid, 0) == 0 ? pid : 0;
}

/* ---- calls ---- */

static void lock(struct fake_libvirt *fake)
{
    pthread_mutex_lock(&fake->lock);
}

static void unlock(struct fake_libvirt *fake)
{
    pthread_mutex_unlock(&fake->lock);
}

/* What the mode says; *does: the thing itself is to be done. Waits when it hangs. Lock held. */
static enum virt_code obey(struct fake_libvirt *fake, enum fake_mode *mode, bool *does,
                           struct hf_err *err)
{
    *does = false;
    while (*mode == FAKE_HANG && !fake->is_released)
        pthread_cond_wait(&fake->released, &fake->lock);
    switch (*mode) {
    case FAKE_OK:
        *does = true;
        return VIRT_OK;
    case FAKE_LIE:
        return VIRT_OK;
    case FAKE_HANG:
        *does = true;
        return VIRT_OK;
    case FAKE_REFUSE:
        (void)hf_err_set(err, HF_EIO, "fake: refused");
        return VIRT_FAILED;
    case FAKE_LOCKED:
        (void)hf_err_set(err, HF_EIO, "fake: Failed to get \"write\" lock");
        return VIRT_LOCKED;
    case FAKE_GONE:
        (void)hf_err_set(err, HF_ECLOSED, "fake: client socket is closed");
        return VIRT_GONE;
    case FAKE_ACTIVE_ONCE:
        *mode = FAKE_OK;
        (void)hf_err_set(err, HF_EIO, "fake: domain is already active");
        return VIRT_ACTIVE;
    case FAKE_ACTIVE:
        (void)hf_err_set(err, HF_EIO, "fake: domain is already active");
        return VIRT_ACTIVE;
    }
    return VIRT_FAILED;
}

static enum virt_code attach(void *self, const struct virt_sink *sink, struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    lock(fake);
    fake->attaches++;
    code = obey(fake, &fake->attach, &does, err);
    fake->sink = *sink;
    unlock(fake);
    return code;
}

static enum virt_code open_conn(void *self, void **conn, struct hf_err *err)
{
    (void)err;
    *conn = self;
    return VIRT_OK;
}

static void close_conn(void *self, void *conn)
{
    (void)self;
    (void)conn;
}

static enum virt_code ping(void *self, void *conn, struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    (void)conn;
    lock(fake);
    code = obey(fake, &fake->ping, &does, err);
    unlock(fake);
    return code;
}

static enum virt_code create(void *self, void *conn, const char *name, const char *xml,
                             struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    (void)conn;
    lock(fake);
    fake->creates++;
    code = obey(fake, &fake->create, &does, err);
    if (does)
        (void)fake_made(fake, name, xml);
    unlock(fake);
    return code;
}

static enum virt_code resume(void *self, void *conn, const char *name, struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    (void)conn;
    lock(fake);
    fake->resumes++;
    code = obey(fake, &fake->resume, &does, err);
    if (does && pid_of(fake, name) == 0)
        code = VIRT_ABSENT;
    else if (does)
        fake_runs(fake, name, pid_of(fake, name));
    unlock(fake);
    return code;
}

static enum virt_code shut_down(void *self, void *conn, const char *name, struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    (void)conn;
    lock(fake);
    fake->shutdowns++;
    code = obey(fake, &fake->shutdown, &does, err);
    if (does && pid_of(fake, name) != 0)
        (void)kill(pid_of(fake, name), SIGTERM);
    unlock(fake);
    return code;
}

static enum virt_code destroy(void *self, void *conn, const char *name, bool is_graceful,
                              struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    (void)conn;
    lock(fake);
    fake->destroys++;
    code = obey(fake, &fake->destroy, &does, err);
    if (does && pid_of(fake, name) != 0)
        (void)kill(pid_of(fake, name), is_graceful ? SIGTERM : SIGKILL);
    unlock(fake);
    return code;
}

static enum virt_code describe(void *self, void *conn, const char *name, char **xml,
                               struct hf_err *err)
{
    (void)self;
    (void)conn;
    (void)name;
    *xml = NULL;
    (void)hf_err_set(err, HF_EIO, "fake: no description");
    return VIRT_FAILED;
}

static enum virt_code probe(void *self, void *conn, const char *name, struct hf_err *err)
{
    struct fake_libvirt *fake = self;
    enum virt_code code;
    bool does;

    (void)conn;
    lock(fake);
    fake->probes++;
    code = obey(fake, &fake->probe, &does, err);
    if (does)
        code = pid_of(fake, name) != 0 ? VIRT_ACTIVE : VIRT_ABSENT;
    unlock(fake);
    return code;
}

/* ---- the test's side ---- */

void fake_name(char name[HF_NAME_MAX + 1], unsigned nth)
{
    (void)snprintf(name, HF_NAME_MAX + 1, "mq-%d-%u", (int)getpid(), nth);
}

void fake_open(struct fake_libvirt *fake, const char *folder, struct virt *virt)
{
    *fake = (struct fake_libvirt){.qemus_count = 0};
    (void)snprintf(fake->folder, sizeof fake->folder, "%s", folder);
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->released, NULL);
    must(pipe2(fake->stdin_pipe, O_CLOEXEC) == 0, "pipe");
    copy_shell(fake);
    *virt = (struct virt){fake,   attach,    open_conn, close_conn, ping,
                          create, resume,    shut_down, destroy,    describe,
                          probe};
}

void fake_close(struct fake_libvirt *fake)
{
    close(fake->stdin_pipe[1]);
    close(fake->stdin_pipe[0]);
    for (unsigned i = 0; i < fake->qemus_count; i++) {
        (void)kill(fake->qemu[i], SIGKILL);
        (void)waitpid(fake->qemu[i], NULL, 0);
    }
}

void fake_release(struct fake_libvirt *fake)
{
    lock(fake);
    fake->is_released = true;
    pthread_cond_broadcast(&fake->released);
    unlock(fake);
}

void fake_event(struct fake_libvirt *fake, enum virt_event_kind kind, const char *name)
{
    struct virt_event ev = {.kind = kind};
    struct virt_sink sink;

    lock(fake);
    sink = fake->sink;
    unlock(fake);
    (void)snprintf(ev.name, sizeof ev.name, "%s", name);
    sink.event(sink.user, &ev);
}

void fake_gone(struct fake_libvirt *fake)
{
    struct virt_sink sink;

    lock(fake);
    sink = fake->sink;
    unlock(fake);
    sink.gone(sink.user, "it ended");
}

void fake_set(struct fake_libvirt *fake, enum fake_mode *mode, enum fake_mode to)
{
    lock(fake);
    *mode = to;
    pthread_cond_broadcast(&fake->released);
    unlock(fake);
}

unsigned fake_count(struct fake_libvirt *fake, const unsigned *counter)
{
    unsigned count;

    lock(fake);
    count = *counter;
    unlock(fake);
    return count;
}
