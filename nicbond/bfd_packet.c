#include "nicbond/bfd_packet.h"

#include "supervisord/base/assert.h"

/* RFC 5880, 4.1: where the fields are, and the bits of the second byte. */
enum {
    AT_VERSION_DIAG = 0,
    AT_STATE_BITS = 1,
    AT_MULTIPLIER = 2,
    AT_LENGTH = 3,
    AT_MY = 4,
    AT_YOUR = 8,
    AT_MIN_TX = 12,
    AT_MIN_RX = 16,
    AT_MIN_ECHO = 20,

    BIT_POLL = 0x20,
    BIT_FINAL = 0x10,
    BIT_INDEPENDENT = 0x08,
    BIT_AUTH = 0x04,
    BIT_DEMAND = 0x02,
    BIT_MULTIPOINT = 0x01,

    AUTH_BYTES_MIN = 2, /* type and length of the authentication section */
};

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_u32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 24);
    at[1] = (uint8_t)(v >> 16);
    at[2] = (uint8_t)(v >> 8);
    at[3] = (uint8_t)v;
}

/* In the order of 6.8.6. */
static enum bfd_drop drop_of(const uint8_t *at, size_t len)
{
    bool has_auth;

    if (len < BFD_PACKET_BYTES)
        return BFD_DROP_SHORT;
    has_auth = (at[AT_STATE_BITS] & BIT_AUTH) != 0;
    if (at[AT_VERSION_DIAG] >> 5 != BFD_VERSION)
        return BFD_DROP_VERSION;
    if (at[AT_LENGTH] < BFD_PACKET_BYTES + (has_auth ? AUTH_BYTES_MIN : 0))
        return BFD_DROP_LENGTH;
    if (at[AT_LENGTH] > len)
        return BFD_DROP_SHORT;
    if (at[AT_MULTIPLIER] == 0)
        return BFD_DROP_MULTIPLIER;
    if ((at[AT_STATE_BITS] & BIT_MULTIPOINT) != 0)
        return BFD_DROP_MULTIPOINT;
    if (get_u32(at + AT_MY) == 0)
        return BFD_DROP_MY;
    if (get_u32(at + AT_YOUR) == 0 && at[AT_STATE_BITS] >> 6 > BFD_DOWN)
        return BFD_DROP_YOUR;
    return has_auth ? BFD_DROP_AUTH : BFD_DROP_NONE;
}

enum bfd_drop bfd_packet_decode(const void *bytes, size_t len, struct bfd_packet *out)
{
    const uint8_t *at = bytes;
    enum bfd_drop drop = drop_of(at, len);
    uint8_t bits;

    if (drop != BFD_DROP_NONE)
        return drop;
    bits = at[AT_STATE_BITS];
    *out = (struct bfd_packet){
        .diag = at[AT_VERSION_DIAG] & 0x1f,
        .state = (enum bfd_state)(bits >> 6),
        .poll = (bits & BIT_POLL) != 0,
        .final = (bits & BIT_FINAL) != 0,
        .demand = (bits & BIT_DEMAND) != 0,
        .is_independent = (bits & BIT_INDEPENDENT) != 0,
        .multiplier = at[AT_MULTIPLIER],
        .my = get_u32(at + AT_MY),
        .your = get_u32(at + AT_YOUR),
        .min_tx_us = get_u32(at + AT_MIN_TX),
        .min_rx_us = get_u32(at + AT_MIN_RX),
        .min_echo_us = get_u32(at + AT_MIN_ECHO),
    };
    return BFD_DROP_NONE;
}

void bfd_packet_encode(const struct bfd_packet *packet, uint8_t out[BFD_PACKET_BYTES])
{
    unsigned bits = (unsigned)packet->state << 6;

    HF_ASSERT(packet->state < BFD_STATES);
    HF_ASSERT(packet->diag < 32);
    HF_ASSERT(packet->multiplier != 0);
    HF_ASSERT(packet->my != 0);
    bits |= packet->poll ? BIT_POLL : 0;
    bits |= packet->final ? BIT_FINAL : 0;
    bits |= packet->is_independent ? BIT_INDEPENDENT : 0;
    bits |= packet->demand ? BIT_DEMAND : 0;
    out[AT_VERSION_DIAG] = (uint8_t)(BFD_VERSION << 5 | packet->diag);
    out[AT_STATE_BITS] = (uint8_t)bits;
    out[AT_MULTIPLIER] = packet->multiplier;
    out[AT_LENGTH] = BFD_PACKET_BYTES;
    put_u32(out + AT_MY, packet->my);
    put_u32(out + AT_YOUR, packet->your);
    put_u32(out + AT_MIN_TX, packet->min_tx_us);
    put_u32(out + AT_MIN_RX, packet->min_rx_us);
    put_u32(out + AT_MIN_ECHO, packet->min_echo_us);
}

static const char *const drop_names[BFD_DROPS] = {
    [BFD_DROP_NONE] = "used",
    [BFD_DROP_SHORT] = "too short",
    [BFD_DROP_VERSION] = "unexpected version",
    [BFD_DROP_LENGTH] = "length field below the minimum",
    [BFD_DROP_MULTIPLIER] = "detect multiplier 0",
    [BFD_DROP_MULTIPOINT] = "multipoint",
    [BFD_DROP_MY] = "without a discriminator of its sender",
    [BFD_DROP_YOUR] = "without our discriminator",
    [BFD_DROP_AUTH] = "authentication is not in use",
    [BFD_DROP_TTL] = "not from this link",
    [BFD_DROP_STRANGER] = "not from a configured peer",
    [BFD_DROP_DISCRIMINATOR] = "for another session",
    [BFD_DROP_DISABLED] = "disabled on our side",
};

const char *bfd_drop_name(enum bfd_drop drop)
{
    if ((unsigned)drop >= BFD_DROPS)
        return "?";
    return drop_names[drop];
}
