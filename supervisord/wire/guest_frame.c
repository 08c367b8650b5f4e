#include "supervisord/wire/guest_frame.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/crc.h"

/* "HFG" and a byte that no text has: the first byte on the wire is 0xf5. */
#define MAGIC 0x474648f5u

enum { MAGIC_BYTES = 4, CRC_FROM = 4, CRC_AT = 8 };

bool hf_mac_is_equal(hf_mac a, hf_mac b)
{
    return memcmp(a.byte, b.byte, sizeof a.byte) == 0;
}

bool hf_mac_is_none(hf_mac mac)
{
    return hf_mac_is_equal(mac, (hf_mac){{0}});
}

bool guest_frame_is_guests(enum hf_guest_kind kind)
{
    switch (kind) {
    case HF_GUEST_HELLO:
    case HF_GUEST_BOND:
    case HF_GUEST_EVENT:
    case HF_GUEST_ACK:
        return true;
    case HF_GUEST_SET_ACTIVE:
    case HF_GUEST_ASK:
    case HF_GUEST_KINDS:
        return false;
    }
    return false;
}

const char *guest_frame_outcome_name(enum hf_guest_outcome outcome)
{
    switch (outcome) {
    case HF_GUEST_DONE:
        return "done";
    case HF_GUEST_ALREADY:
        return "already";
    case HF_GUEST_NO_BOND:
        return "no bond";
    case HF_GUEST_NO_SLAVE:
        return "no such slave";
    case HF_GUEST_AMBIGUOUS:
        return "ambiguous";
    case HF_GUEST_REFUSED:
        return "refused";
    case HF_GUEST_UNCONFIRMED:
        return "unconfirmed";
    case HF_GUEST_SUPERSEDED:
        return "superseded";
    case HF_GUEST_OUTCOMES:
        return "?";
    }
    return "?";
}

enum hf_guest_outcome guest_frame_find(const struct hf_guest_bond *bond, hf_mac mac, uint8_t *at)
{
    unsigned by_perm = 0, by_mac = 0;
    uint8_t perm_at = 0, mac_at = 0;

    for (uint8_t i = 0; i < bond->slaves_count; i++) {
        if (hf_mac_is_equal(bond->slave[i].perm_mac, mac)) {
            by_perm++;
            perm_at = i;
        }
        if (hf_mac_is_equal(bond->slave[i].mac, mac)) {
            by_mac++;
            mac_at = i;
        }
    }
    if (by_perm + by_mac == 0 || hf_mac_is_none(mac))
        return HF_GUEST_NO_SLAVE;
    if (by_perm > 1 || (by_perm == 0 && by_mac > 1))
        return HF_GUEST_AMBIGUOUS;
    *at = by_perm == 1 ? perm_at : mac_at;
    return HF_GUEST_DONE;
}

/* ---- fields ---- */

/* The kernel lets a name hold nearly anything; nobody else has to. */
static bool is_name_character(char c)
{
    return c > ' ' && c <= '~' && c != '/';
}

static void put_name(struct hf_writer *w, const char *name)
{
    char clean[HF_IFNAME_MAX + 1] = "";

    for (size_t i = 0; i < HF_IFNAME_MAX && name[i] != '\0'; i++)
        clean[i] = is_name_character(name[i]) ? name[i] : '?';
    hf_put_str(w, clean);
}

static void get_name(struct hf_reader *r, char out[HF_IFNAME_MAX + 1])
{
    hf_get_str(r, out, HF_IFNAME_MAX + 1);
    for (size_t i = 0; out[i] != '\0'; i++)
        if (!is_name_character(out[i]))
            r->bad = true;
}

static void put_mac(struct hf_writer *w, hf_mac mac)
{
    hf_put_bytes(w, mac.byte, sizeof mac.byte);
}

static hf_mac get_mac(struct hf_reader *r)
{
    hf_mac mac = {{0}};

    hf_get_bytes(r, mac.byte, sizeof mac.byte);
    return mac;
}

static void put_slave(struct hf_writer *w, const struct hf_guest_slave *slave)
{
    put_name(w, slave->name);
    hf_put_u32(w, slave->index);
    put_mac(w, slave->mac);
    put_mac(w, slave->perm_mac);
    hf_put_u8(w, (uint8_t)slave->link);
    hf_put_u8(w, slave->is_active);
    hf_put_u8(w, slave->has_carrier);
    hf_put_u32(w, slave->failures);
}

static void get_slave(struct hf_reader *r, struct hf_guest_slave *slave)
{
    get_name(r, slave->name);
    slave->index = hf_get_u32(r);
    slave->mac = get_mac(r);
    slave->perm_mac = get_mac(r);
    slave->link = (enum hf_guest_link)hf_get_enum(r, HF_GUEST_LINKS);
    slave->is_active = hf_get_enum(r, 2) == 1;
    slave->has_carrier = hf_get_enum(r, 2) == 1;
    slave->failures = hf_get_u32(r);
}

static void put_bond(struct hf_writer *w, const struct hf_guest_bond *bond)
{
    put_name(w, bond->name);
    hf_put_u32(w, bond->index);
    hf_put_u8(w, bond->mode);
    hf_put_u8(w, bond->primary_reselect);
    hf_put_u8(w, bond->fail_over_mac);
    hf_put_u32(w, bond->miimon_ms);
    hf_put_u32(w, bond->arp_interval_ms);
    hf_put_u8(w, bond->has_carrier);
    hf_put_u8(w, bond->active);
    hf_put_u8(w, bond->slaves_count);
    for (uint8_t i = 0; i < bond->slaves_count; i++)
        put_slave(w, &bond->slave[i]);
}

static void get_bond(struct hf_reader *r, struct hf_guest_bond *bond)
{
    get_name(r, bond->name);
    bond->index = hf_get_u32(r);
    bond->mode = hf_get_u8(r);
    bond->primary_reselect = hf_get_u8(r);
    bond->fail_over_mac = hf_get_u8(r);
    bond->miimon_ms = hf_get_u32(r);
    bond->arp_interval_ms = hf_get_u32(r);
    bond->has_carrier = hf_get_enum(r, 2) == 1;
    bond->active = hf_get_u8(r);
    bond->slaves_count = hf_get_enum(r, HF_GUEST_SLAVES_MAX + 1);
    for (uint8_t i = 0; i < bond->slaves_count; i++)
        get_slave(r, &bond->slave[i]);
    if (bond->active != HF_GUEST_NONE && bond->active >= bond->slaves_count)
        r->bad = true;
}

/* ---- messages ---- */

static void put_body(struct hf_writer *w, const struct hf_guest_message *m)
{
    switch (m->kind) {
    case HF_GUEST_HELLO:
        hf_put_bytes(w, m->u.hello.boot_id, sizeof m->u.hello.boot_id);
        put_name(w, m->u.hello.program);
        return;
    case HF_GUEST_BOND:
        hf_put_u32(w, m->u.bond.events_lost);
        hf_put_u64(w, (uint64_t)m->u.bond.monotonic_ns);
        hf_put_u64(w, (uint64_t)m->u.bond.wall_ns);
        put_bond(w, &m->u.bond.bond);
        return;
    case HF_GUEST_EVENT:
        hf_put_u8(w, m->u.event.event);
        put_name(w, m->u.event.name);
        hf_put_u64(w, (uint64_t)m->u.event.monotonic_ns);
        hf_put_u64(w, (uint64_t)m->u.event.wall_ns);
        return;
    case HF_GUEST_ACK:
        hf_put_u64(w, m->u.ack.number);
        hf_put_u8(w, (uint8_t)m->u.ack.outcome);
        hf_put_u32(w, m->u.ack.sys_errno);
        hf_put_u32(w, m->u.ack.took_us);
        put_mac(w, m->u.ack.active);
        return;
    case HF_GUEST_SET_ACTIVE:
        hf_put_u64(w, m->u.set_active.number);
        put_mac(w, m->u.set_active.mac);
        return;
    case HF_GUEST_ASK:
        hf_put_u64(w, m->u.ask.void_to);
        return;
    case HF_GUEST_KINDS:
        break;
    }
    HF_NEVER("a guest message of no kind");
}

static void get_body(struct hf_reader *r, struct hf_guest_message *m)
{
    switch (m->kind) {
    case HF_GUEST_HELLO:
        hf_get_bytes(r, m->u.hello.boot_id, sizeof m->u.hello.boot_id);
        get_name(r, m->u.hello.program);
        return;
    case HF_GUEST_BOND:
        m->u.bond.events_lost = hf_get_u32(r);
        m->u.bond.monotonic_ns = (int64_t)hf_get_u64(r);
        m->u.bond.wall_ns = (int64_t)hf_get_u64(r);
        get_bond(r, &m->u.bond.bond);
        return;
    case HF_GUEST_EVENT:
        m->u.event.event = hf_get_u8(r);
        get_name(r, m->u.event.name);
        m->u.event.monotonic_ns = (int64_t)hf_get_u64(r);
        m->u.event.wall_ns = (int64_t)hf_get_u64(r);
        return;
    case HF_GUEST_ACK:
        m->u.ack.number = hf_get_u64(r);
        m->u.ack.outcome = (enum hf_guest_outcome)hf_get_enum(r, HF_GUEST_OUTCOMES);
        r->bad = r->bad || m->u.ack.outcome == 0;
        m->u.ack.sys_errno = hf_get_u32(r);
        m->u.ack.took_us = hf_get_u32(r);
        m->u.ack.active = get_mac(r);
        return;
    case HF_GUEST_SET_ACTIVE:
        m->u.set_active.number = hf_get_u64(r);
        m->u.set_active.mac = get_mac(r);
        return;
    case HF_GUEST_ASK:
        m->u.ask.void_to = hf_get_u64(r);
        return;
    case HF_GUEST_KINDS:
        break;
    }
    r->bad = true;
}

size_t guest_frame_encode(const struct hf_guest_message *message, uint8_t out[GUEST_FRAME_MAX])
{
    struct hf_writer w = hf_writer_on(out, GUEST_FRAME_MAX);
    struct hf_writer head;
    uint32_t crc;

    hf_put_u32(&w, MAGIC);
    hf_put_u8(&w, HF_GUEST_VERSION);
    hf_put_u8(&w, (uint8_t)message->kind);
    hf_put_u16(&w, 0);
    hf_put_u32(&w, 0);
    put_body(&w, message);
    HF_ASSERT(!w.bad);
    head = hf_writer_on(out + 6, 2);
    hf_put_u16(&head, (uint16_t)(w.len - GUEST_FRAME_HEAD));
    crc = hf_crc32c(0, out + CRC_FROM, CRC_AT - CRC_FROM);
    crc = hf_crc32c(crc, out + GUEST_FRAME_HEAD, w.len - GUEST_FRAME_HEAD);
    head = hf_writer_on(out + CRC_AT, 4);
    hf_put_u32(&head, crc);
    return w.len;
}

bool guest_frame_decode(uint8_t kind, const uint8_t *body, size_t len,
                        struct hf_guest_message *message)
{
    struct hf_reader r = hf_reader_on(body, len);

    memset(message, 0, sizeof *message);
    if (kind == 0 || kind >= HF_GUEST_KINDS)
        return false;
    message->kind = (enum hf_guest_kind)kind;
    get_body(&r, message);
    return hf_reader_ended(&r);
}

/* ---- stream ---- */

size_t guest_stream_put(struct guest_stream *stream, const uint8_t *bytes, size_t len)
{
    size_t room = sizeof stream->bytes - stream->len;

    if (len > room)
        len = room;
    if (len > 0)
        memcpy(stream->bytes + stream->len, bytes, len);
    stream->len += len;
    return len;
}

static void drop(struct guest_stream *stream, size_t len)
{
    HF_ASSERT(len <= stream->len);
    stream->len -= len;
    memmove(stream->bytes, stream->bytes + len, stream->len);
}

/* Bytes up to the next place where the magic is, or where the bytes end in a beginning of it. */
static size_t find_magic(const struct guest_stream *stream, size_t from)
{
    static const uint8_t magic[MAGIC_BYTES] = {0xf5, 0x48, 0x46, 0x47};
    size_t at = from;

    for (; at < stream->len; at++) {
        size_t rest = stream->len - at;

        if (memcmp(stream->bytes + at, magic, rest < MAGIC_BYTES ? rest : MAGIC_BYTES) == 0)
            break;
    }
    return at;
}

struct head {
    uint8_t version, kind;
    uint16_t length;
    uint32_t crc;
};

static struct head read_head(const uint8_t *at)
{
    struct hf_reader r = hf_reader_on(at + MAGIC_BYTES, GUEST_FRAME_HEAD - MAGIC_BYTES);
    struct head head;

    head.version = hf_get_u8(&r);
    head.kind = hf_get_u8(&r);
    head.length = hf_get_u16(&r);
    head.crc = hf_get_u32(&r);
    return head;
}

static bool is_sound(const uint8_t *at, const struct head *head)
{
    uint32_t crc = hf_crc32c(0, at + CRC_FROM, CRC_AT - CRC_FROM);

    return hf_crc32c(crc, at + GUEST_FRAME_HEAD, head->length) == head->crc;
}

bool guest_stream_next(struct guest_stream *stream, struct hf_guest_message *message)
{
    size_t at = find_magic(stream, 0);
    bool is_found = false;

    while (!is_found && stream->len - at >= GUEST_FRAME_HEAD) {
        const uint8_t *frame = stream->bytes + at;
        struct head head = read_head(frame);

        if (head.length <= GUEST_FRAME_BODY_MAX) {
            if (stream->len - at < (size_t)GUEST_FRAME_HEAD + head.length)
                break;
            if (is_sound(frame, &head)) {
                if (head.version != HF_GUEST_VERSION)
                    stream->other_version++;
                else if (!guest_frame_decode(head.kind, frame + GUEST_FRAME_HEAD, head.length,
                                             message))
                    stream->refused++;
                else
                    is_found = true;
                stream->skipped += at;
                drop(stream, at + GUEST_FRAME_HEAD + head.length);
                at = find_magic(stream, 0);
                continue;
            }
        }
        /* No frame after all; one may begin inside of what it would have been. */
        at = find_magic(stream, at + 1);
    }
    if (is_found)
        return true;
    stream->skipped += at;
    drop(stream, at);
    return false;
}

bool guest_stream_is_partial(const struct guest_stream *stream)
{
    return stream->len > 0;
}

void guest_stream_give_up(struct guest_stream *stream)
{
    size_t at = stream->len > 0 ? find_magic(stream, 1) : 0;

    stream->skipped += at;
    drop(stream, at);
}
