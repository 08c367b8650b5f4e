#include <string.h>

#include "agents/nic/parse.h"

/* IEEE 802.1AB clause 8: a frame is a run of TLVs of 7 bits type and 9 bits length, and begins with
 * chassis, port and time to live. */
enum {
    FRAME_HEAD = 14, /* two addresses and the EtherType */
    TLV_CHASSIS = 1,
    TLV_PORT = 2,
    TLV_SECONDS = 3,
    CHASSIS_MAC = 4, /* table 8-2 */
    PORT_MAC = 3,    /* table 8-3 */
    ID_MAX = 30,     /* of each: both fit in nic_lldp.switch_id */
};

struct tlv {
    unsigned type;
    const uint8_t *at;
    size_t len;
};

static bool next_tlv(const uint8_t *bytes, size_t len, size_t *pos, struct tlv *out)
{
    if (len - *pos < 2)
        return false;
    out->type = bytes[*pos] >> 1;
    out->len = (size_t)(bytes[*pos] & 1) << 8 | bytes[*pos + 1];
    *pos += 2;
    if (out->len > len - *pos)
        return false;
    out->at = bytes + *pos;
    *pos += out->len;
    return true;
}

/* A subtype and an identifier: a MAC, text, or bytes that are shown as text as far as they are. */
static bool put_id(const struct tlv *tlv, unsigned mac_subtype, char out[ID_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    size_t len = 0;

    if (tlv->len < 2)
        return false;
    if (tlv->at[0] == mac_subtype && tlv->len == 7) {
        for (size_t i = 1; i < 7; i++) {
            out[len++] = digits[tlv->at[i] >> 4];
            out[len++] = digits[tlv->at[i] & 15];
            out[len++] = ':';
        }
        out[len - 1] = '\0';
        return true;
    }
    for (size_t i = 1; i < tlv->len && len < ID_MAX; i++)
        out[len++] = tlv->at[i] > ' ' && tlv->at[i] <= '~' ? (char)tlv->at[i] : '_';
    out[len] = '\0';
    return true;
}

enum parse_word parse_lldp(const uint8_t *bytes, size_t len, struct nic_lldp *out)
{
    char chassis[ID_MAX + 1], port[ID_MAX + 1];
    size_t pos = FRAME_HEAD, chassis_len;
    struct tlv tlv;

    memset(out, 0, sizeof *out);
    if (len == 0)
        return PARSE_END;
    if (len < FRAME_HEAD)
        return PARSE_BAD;
    if (bytes[12] != 0x88 || bytes[13] != 0xcc)
        return PARSE_OTHER;
    if (!next_tlv(bytes, len, &pos, &tlv) || tlv.type != TLV_CHASSIS ||
        !put_id(&tlv, CHASSIS_MAC, chassis))
        return PARSE_BAD;
    if (!next_tlv(bytes, len, &pos, &tlv) || tlv.type != TLV_PORT || !put_id(&tlv, PORT_MAC, port))
        return PARSE_BAD;
    if (!next_tlv(bytes, len, &pos, &tlv) || tlv.type != TLV_SECONDS || tlv.len < 2)
        return PARSE_BAD;
    out->seconds = (uint16_t)(tlv.at[0] << 8 | tlv.at[1]);
    chassis_len = strlen(chassis);
    _Static_assert(2 * ID_MAX + 2 <= sizeof out->switch_id, "both fit");
    memcpy(out->switch_id, chassis, chassis_len);
    out->switch_id[chassis_len] = ' ';
    memcpy(out->switch_id + chassis_len + 1, port, strlen(port) + 1);
    return PARSE_GOT;
}
