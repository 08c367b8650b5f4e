#include "supervisord/wire/fields.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

void fields_put_bool(struct hf_writer *w, bool v)
{
    hf_put_u8(w, v ? 1 : 0);
}

bool fields_get_bool(struct hf_reader *r)
{
    return hf_get_enum(r, 2) == 1;
}

uint8_t fields_get_enum_from_1(struct hf_reader *r, uint8_t limit)
{
    uint8_t v = hf_get_enum(r, limit);

    if (v == 0)
        r->bad = true;
    return v;
}

uint32_t fields_get_positive(struct hf_reader *r)
{
    uint32_t v = hf_get_u32(r);

    if (v == 0)
        r->bad = true;
    return v;
}

void fields_put_node(struct hf_writer *w, hf_node node)
{
    hf_put_u8(w, node.ix);
}

hf_node fields_get_node(struct hf_reader *r)
{
    return (hf_node){hf_get_enum(r, HF_NODES_MAX)};
}

hf_node fields_get_node_or_none(struct hf_reader *r)
{
    hf_node node = {hf_get_u8(r)};

    if (!hf_node_is(node) && node.ix != HF_NO_NODE.ix)
        r->bad = true;
    return node;
}

void fields_put_token(struct hf_writer *w, struct hf_token token)
{
    hf_put_u64(w, token.seq);
    hf_put_u32(w, token.nth);
}

void fields_get_token(struct hf_reader *r, struct hf_token *token)
{
    token->seq = hf_get_u64(r);
    token->nth = hf_get_u32(r);
    if (!hf_token_is(*token))
        r->bad = true;
}

hf_vm_uid fields_get_uid(struct hf_reader *r)
{
    return fields_get_positive(r);
}

void fields_get_name_or_none(struct hf_reader *r, char out[HF_NAME_MAX + 1])
{
    hf_get_str(r, out, HF_NAME_MAX + 1);
    if (out[0] != '\0' && !hf_str_is_name(out, HF_NAME_MAX)) {
        out[0] = '\0';
        r->bad = true;
    }
}

void fields_get_name(struct hf_reader *r, char out[HF_NAME_MAX + 1])
{
    fields_get_name_or_none(r, out);
    if (out[0] == '\0')
        r->bad = true;
}

void fields_put_text(struct hf_writer *w, const char *text)
{
    char clean[HF_REASON_MAX + 1];

    (void)hf_str_copy(clean, sizeof clean, text);
    for (char *c = clean; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
    hf_put_str(w, clean);
}

/* ---- inventories ---- */

void fields_put_inventory(struct hf_writer *w, uint64_t as_of, const struct hf_vm_seen *vm,
                          uint16_t count)
{
    HF_ASSERT(count <= HF_VMS_MAX);
    hf_put_u64(w, as_of);
    hf_put_u16(w, count);
    for (uint16_t i = 0; i < count; i++) {
        hf_put_u32(w, vm[i].uid);
        hf_put_u32(w, vm[i].start_no);
    }
}

static bool has(const struct hf_vm_seen *vm, uint16_t count, hf_vm_uid uid)
{
    for (uint16_t i = 0; i < count; i++) {
        if (vm[i].uid == uid)
            return true;
    }
    return false;
}

void fields_get_inventory(struct hf_reader *r, uint64_t *as_of, struct hf_vm_seen vm[HF_VMS_MAX],
                          uint16_t *count)
{
    uint16_t said;

    *as_of = hf_get_u64(r);
    said = hf_get_u16(r);
    if (said > HF_VMS_MAX)
        r->bad = true;
    for (uint16_t i = 0; i < said && !r->bad; i++) {
        hf_vm_uid uid = fields_get_uid(r);

        if (has(vm, i, uid))
            r->bad = true;
        vm[i].uid = uid;
        vm[i].start_no = hf_get_u32(r);
    }
    *count = r->bad ? 0 : said;
}

void fields_put_legs(struct hf_writer *w, hf_legs has, hf_legs up, hf_fabric active)
{
    hf_put_u8(w, has);
    hf_put_u8(w, up);
    hf_put_u8(w, active);
}

void fields_get_legs(struct hf_reader *r, hf_legs *has, hf_legs *up, hf_fabric *active)
{
    *has = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    *up = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    *active = hf_get_enum(r, HF_FABRICS_MAX + 1);
    if (*up & ~*has)
        r->bad = true;
}

void fields_put_flip(struct hf_writer *w, const struct hf_flip *flip)
{
    hf_put_u64(w, flip->epoch);
    hf_put_u32(w, flip->uid);
    hf_put_u8(w, flip->from);
    hf_put_u8(w, flip->to);
    hf_put_u8(w, (uint8_t)flip->cause);
    hf_put_u8(w, (uint8_t)flip->method);
    hf_put_u8(w, (uint8_t)flip->outcome);
    hf_put_u32(w, flip->judged_us);
    hf_put_u32(w, flip->ordered_us);
    hf_put_u32(w, flip->confirmed_us);
    hf_put_u64(w, (uint64_t)flip->wall_ns);
}

/* From or to HF_FABRICS_MAX: from an unknown leg, or to none because no other was healthy. */
void fields_get_flip(struct hf_reader *r, struct hf_flip *flip)
{
    flip->epoch = hf_get_u64(r);
    flip->uid = hf_get_u32(r);
    flip->from = hf_get_enum(r, HF_FABRICS_MAX + 1);
    flip->to = hf_get_enum(r, HF_FABRICS_MAX + 1);
    flip->cause = (enum hf_nic_cause)hf_get_enum(r, HF_NIC_CAUSES);
    flip->method = (enum hf_flip_method)hf_get_enum(r, HF_FLIP_METHODS);
    flip->outcome = (enum hf_flip_outcome)hf_get_enum(r, HF_FLIP_OUTCOMES);
    flip->judged_us = hf_get_u32(r);
    flip->ordered_us = hf_get_u32(r);
    flip->confirmed_us = hf_get_u32(r);
    flip->wall_ns = (int64_t)hf_get_u64(r);
}
