/* LINK: supervisord/ctl supervisord/report supervisord/engine fencing supervisord/door */
/* A request from the admin door: whatever the bytes, it is refused or it encodes to the same again,
 * and turning it into an event of the engine gives an event with every index in range. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/ctl/order.h"
#include "supervisord/ctl/role.h"
#include "supervisord/wire/ctl.h"
#include "tests/unit/supervisord/a_group.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* One engine for all inputs: requests are only resolved against it. */
static const struct engine *an_engine(void)
{
    static struct engine *engine;
    struct hf_group group = a_group(3);
    struct hf_err err;

    if (engine != NULL)
        return engine;
    engine = calloc(1, engine_size());
    if (engine == NULL || engine_init(engine, &group, &err) != HF_OK)
        abort();
    return engine;
}

static void check_event(const struct hf_event *ev)
{
    if (ev->type != HF_EV_ORDER || ev->u.order.type == 0 || ev->u.order.type >= HF_ORDERS)
        abort();
    if (ev->u.order.node.ix != 0xff && ev->u.order.node.ix >= 3)
        abort();
    if (ev->u.order.type != HF_ORDER_VM_ADD)
        return;
    if (ev->u.order.def.name[0] == '\0' || ev->u.order.def.memory_mib == 0 ||
        (ev->u.order.def.allowed & ~7) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct ctl_shell shell;
    struct door_peer peer = {.uid = 1000, .in_group = true};
    struct hf_ctl_request request;
    struct hf_event ev;
    struct hf_err err;
    uint8_t again[HF_CTL_REQUEST_MAX];

    if (len > HF_CTL_REQUEST_MAX || ctl_decode(bytes, len, &request, &err) != HF_OK)
        return 0;
    if (ctl_encode(&request, again) != len || memcmp(again, bytes, len) != 0)
        abort();
    if (request.verb != HF_CTL_ORDER || role_needed(&request) > CTL_ROLE_ADMIN)
        return 0;
    memset(&shell, 0, sizeof shell);
    shell.engine = an_engine();
    shell.node = "n1";
    if (order_event(&shell, &request, &peer, &ev, &err) == HF_CTL_OK)
        check_event(&ev);
    return 0;
}
