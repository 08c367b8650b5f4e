#include "nicbond/ledger.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/crc.h"
#include "supervisord/base/str.h"

#define MAGIC "hfnicled"

enum {
    VERSION = 1,
    MAGIC_BYTES = 8,
    CRC_BYTES = 4,
};

_Static_assert(sizeof MAGIC - 1 == MAGIC_BYTES, "the magic word fills its field");

void ledger_init(struct ledger *l)
{
    memset(l, 0, sizeof *l);
    l->next = 1;
    l->epochs_to = 1;
}

static struct ledger_vf *find(struct ledger *l, const char *vf)
{
    for (uint16_t i = 0; i < l->count; i++) {
        if (strcmp(l->vfs[i].vf, vf) == 0)
            return &l->vfs[i];
    }
    return NULL;
}

const struct ledger_vf *ledger_find(const struct ledger *l, const char *vf)
{
    for (uint16_t i = 0; i < l->count; i++) {
        if (strcmp(l->vfs[i].vf, vf) == 0)
            return &l->vfs[i];
    }
    return NULL;
}

static bool is_owner(const struct ledger_vf *vf, hf_vm_uid uid, uint32_t start_no)
{
    return vf->uid == uid && vf->start_no == start_no;
}

/* ---- what may happen ---- */

/* Where a new VF would go: a free place, or one whose VF was given back. */
static struct ledger_vf *place(struct ledger *l)
{
    if (l->count < LEDGER_VFS_MAX)
        return &l->vfs[l->count];
    for (uint16_t i = 0; i < l->count; i++) {
        if (l->vfs[i].phase == LEDGER_RELEASED)
            return &l->vfs[i];
    }
    return NULL;
}

static bool has_place(const struct ledger *l)
{
    for (uint16_t i = 0; i < l->count; i++) {
        if (l->vfs[i].phase == LEDGER_RELEASED)
            return true;
    }
    return l->count < LEDGER_VFS_MAX;
}

enum hf_code ledger_intend(const struct ledger *l, const struct ledger_vf *want,
                           const struct vf_config *present, struct ledger_record *record,
                           struct hf_err *err)
{
    const struct ledger_vf *was = ledger_find(l, want->vf);

    if (was != NULL && was->uid == want->uid && was->start_no > want->start_no)
        return hf_err_set(
            err, HF_EACCESS, "VF %s: start %u of VM %u is older than start %u, which has had it",
            want->vf, (unsigned)want->start_no, (unsigned)want->uid, (unsigned)was->start_no);
    if (was == NULL && !has_place(l))
        return hf_err_set(err, HF_EFULL, "VF %s: %d VFs are owned already", want->vf,
                          (int)LEDGER_VFS_MAX);
    memset(record, 0, sizeof *record);
    record->kind = LEDGER_OWNER;
    record->vf = *want;
    record->vf.phase = LEDGER_INTENDED;
    record->vf.original = ledger_is_owned(was) ? was->original : *present;
    return HF_OK;
}

/* The owner's entry in another phase. */
static enum hf_code by_owner(const struct ledger *l, const char *vf, hf_vm_uid uid,
                             uint32_t start_no, enum ledger_phase phase,
                             struct ledger_record *record, struct hf_err *err)
{
    const struct ledger_vf *was = ledger_find(l, vf);

    if (was == NULL)
        return hf_err_set(err, HF_ENOENT, "VF %s: nobody has owned it", vf);
    if (!is_owner(was, uid, start_no))
        return hf_err_set(err, HF_EACCESS,
                          "VF %s: VM %u of start %u does not own it: VM %u of start %u %s", vf,
                          (unsigned)uid, (unsigned)start_no, (unsigned)was->uid,
                          (unsigned)was->start_no, ledger_is_owned(was) ? "does" : "did last");
    if (!ledger_is_owned(was))
        return hf_err_set(err, HF_ENOENT, "VF %s: it was given back", vf);
    memset(record, 0, sizeof *record);
    record->kind = LEDGER_OWNER;
    record->vf = *was;
    record->vf.phase = phase;
    return HF_OK;
}

enum hf_code ledger_done(const struct ledger *l, const char *vf, hf_vm_uid uid, uint32_t start_no,
                         struct ledger_record *record, struct hf_err *err)
{
    return by_owner(l, vf, uid, start_no, LEDGER_DONE, record, err);
}

enum hf_code ledger_release(const struct ledger *l, const char *vf, hf_vm_uid uid,
                            uint32_t start_no, struct ledger_record *record, struct hf_err *err)
{
    return by_owner(l, vf, uid, start_no, LEDGER_RELEASED, record, err);
}

uint64_t ledger_reserve(const struct ledger *l, uint64_t floor, struct ledger_record *record)
{
    uint64_t first = l->epochs_to > floor ? l->epochs_to : floor;

    memset(record, 0, sizeof *record);
    record->kind = LEDGER_EPOCHS;
    record->epochs_to = first + LEDGER_EPOCHS_RESERVED;
    return first;
}

/* ---- what does happen ---- */

static bool is_same_vf(const struct ledger_vf *a, const struct ledger_vf *b)
{
    return strcmp(a->pf, b->pf) == 0 && a->number == b->number;
}

static bool is_same_config(const struct vf_config *a, const struct vf_config *b)
{
    return vf_mac_same(a->mac, b->mac) && a->vlan == b->vlan && a->qos == b->qos &&
           a->spoofchk == b->spoofchk && a->trust == b->trust && a->link == b->link;
}

/* NULL, or why the record cannot follow. */
static const char *owner_objection(const struct ledger_vf *was, const struct ledger_vf *vf)
{
    if (was == NULL)
        return vf->phase == LEDGER_INTENDED ? NULL : "a VF that nobody intended to use";
    if (vf->phase == LEDGER_INTENDED) {
        if (was->uid == vf->uid && was->start_no > vf->start_no)
            return "a start older than the one before";
        if (ledger_is_owned(was) && !is_same_config(&was->original, &vf->original))
            return "an original that is the last owner's";
        return NULL;
    }
    if (!is_owner(was, vf->uid, vf->start_no) || !is_same_vf(was, vf))
        return "an owner that is not the one before";
    if (!ledger_is_owned(was))
        return "a VF that was given back";
    return NULL;
}

static const char *objection(const struct ledger *l, const struct ledger_record *record)
{
    const struct ledger_vf *was = NULL;

    switch (record->kind) {
    case LEDGER_EPOCHS:
        return record->epochs_to > l->epochs_to ? NULL : "epochs that were used before";
    case LEDGER_OWNER:
        was = ledger_find(l, record->vf.vf);
        return owner_objection(was, &record->vf);
    case LEDGER_KEPT:
        was = ledger_find(l, record->vf.vf);
        return was == NULL ? NULL : "a VF that is there twice";
    case LEDGER_KINDS:
        break;
    }
    return "a kind of record that does not exist";
}

static enum hf_code change(struct ledger *l, const struct ledger_record *record, struct hf_err *err)
{
    const char *why = objection(l, record);
    struct ledger_vf *at;

    if (why != NULL)
        return hf_err_set(err, HF_EBAD, "record %llu tells of %s", (unsigned long long)l->next,
                          why);
    if (record->kind == LEDGER_EPOCHS) {
        l->epochs_to = record->epochs_to;
    } else {
        at = find(l, record->vf.vf);
        if (at == NULL)
            at = place(l);
        if (at == NULL)
            return hf_err_set(err, HF_EFULL, "record %llu: %d VFs are owned already",
                              (unsigned long long)l->next, (int)LEDGER_VFS_MAX);
        if (at == &l->vfs[l->count])
            l->count++;
        *at = record->vf;
    }
    l->next++;
    return HF_OK;
}

enum hf_code ledger_apply(struct ledger *l, const struct ledger_record *record, struct hf_err *err)
{
    if (change(l, record, err) != HF_OK)
        return err->code;
    ledger_check(l);
    return HF_OK;
}

/* ---- bytes ---- */

static void put_config(struct hf_writer *w, const struct vf_config *config)
{
    hf_put_bytes(w, config->mac, sizeof config->mac);
    hf_put_u16(w, config->vlan);
    hf_put_u8(w, config->qos);
    hf_put_u8(w, (uint8_t)config->spoofchk);
    hf_put_u8(w, (uint8_t)config->trust);
    hf_put_u8(w, (uint8_t)config->link);
}

static void get_config(struct hf_reader *r, struct vf_config *config)
{
    hf_get_bytes(r, config->mac, sizeof config->mac);
    config->vlan = hf_get_u16(r);
    config->qos = hf_get_u8(r);
    config->spoofchk = (enum vf_setting)hf_get_enum(r, VF_SETTINGS);
    config->trust = (enum vf_setting)hf_get_enum(r, VF_SETTINGS);
    config->link = (enum vf_link)hf_get_enum(r, VF_LINKS);
    r->bad = r->bad || !vf_config_is_valid(config);
}

static void get_pci(struct hf_reader *r, char name[HF_PCI_NAME_MAX + 1])
{
    hf_get_bytes(r, name, HF_PCI_NAME_MAX);
    name[HF_PCI_NAME_MAX] = '\0';
    r->bad = r->bad || !vf_pci_is_name(name);
}

/* The same for every kind: what a kind does not use is zeros. */
void ledger_encode(const struct ledger_record *record, uint64_t number,
                   uint8_t bytes[LEDGER_RECORD_BYTES])
{
    struct hf_writer w = hf_writer_on(bytes + CRC_BYTES, LEDGER_RECORD_BYTES - CRC_BYTES);
    struct hf_writer head = hf_writer_on(bytes, CRC_BYTES);

    memset(bytes, 0, LEDGER_RECORD_BYTES);
    hf_put_u64(&w, number);
    hf_put_u8(&w, (uint8_t)record->kind);
    if (record->kind == LEDGER_EPOCHS) {
        hf_put_u64(&w, record->epochs_to);
    } else {
        hf_put_bytes(&w, record->vf.pf, HF_PCI_NAME_MAX);
        hf_put_bytes(&w, record->vf.vf, HF_PCI_NAME_MAX);
        hf_put_u16(&w, record->vf.number);
        hf_put_u32(&w, record->vf.uid);
        hf_put_u32(&w, record->vf.start_no);
        hf_put_u8(&w, (uint8_t)record->vf.phase);
        put_config(&w, &record->vf.original);
        put_config(&w, &record->vf.wanted);
    }
    HF_ASSERT(!w.bad);
    hf_put_u32(&head, hf_crc32c(0, bytes + CRC_BYTES, (size_t)LEDGER_RECORD_BYTES - CRC_BYTES));
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static bool crc_fits(const uint8_t *bytes, size_t len)
{
    struct hf_reader head = hf_reader_on(bytes, CRC_BYTES);

    return hf_get_u32(&head) == hf_crc32c(0, bytes + CRC_BYTES, len - CRC_BYTES);
}

/* Of a record whose CRC fits: false all the same when a field has no such value. */
static bool decode(const uint8_t bytes[LEDGER_RECORD_BYTES], struct ledger_record *record,
                   uint64_t *number)
{
    struct hf_reader r = hf_reader_on(bytes + CRC_BYTES, LEDGER_RECORD_BYTES - CRC_BYTES);

    memset(record, 0, sizeof *record);
    *number = hf_get_u64(&r);
    record->kind = (enum ledger_kind)hf_get_enum(&r, LEDGER_KINDS);
    if (record->kind == LEDGER_EPOCHS) {
        record->epochs_to = hf_get_u64(&r);
        r.bad = r.bad || record->epochs_to > INT64_MAX; /* rising, it must not come round */
    } else {
        get_pci(&r, record->vf.pf);
        get_pci(&r, record->vf.vf);
        record->vf.number = hf_get_u16(&r);
        record->vf.uid = hf_get_u32(&r);
        record->vf.start_no = hf_get_u32(&r);
        record->vf.phase = (enum ledger_phase)hf_get_enum(&r, LEDGER_PHASES);
        get_config(&r, &record->vf.original);
        get_config(&r, &record->vf.wanted);
        r.bad = r.bad || record->vf.number > VF_NUMBER_MAX;
    }
    return !r.bad && is_zero(r.at + r.pos, r.len - r.pos);
}

/* magic, version, records that the file began with, number of the first one, CRC. */
static void put_header(uint8_t bytes[LEDGER_HEADER_BYTES], uint32_t kept, uint64_t first)
{
    struct hf_writer w = hf_writer_on(bytes + CRC_BYTES, LEDGER_HEADER_BYTES - CRC_BYTES);
    struct hf_writer head = hf_writer_on(bytes, CRC_BYTES);

    memset(bytes, 0, LEDGER_HEADER_BYTES);
    hf_put_bytes(&w, MAGIC, MAGIC_BYTES);
    hf_put_u32(&w, VERSION);
    hf_put_u32(&w, kept);
    hf_put_u64(&w, first);
    HF_ASSERT(!w.bad);
    hf_put_u32(&head, hf_crc32c(0, bytes + CRC_BYTES, (size_t)LEDGER_HEADER_BYTES - CRC_BYTES));
}

size_t ledger_save(const struct ledger *l, uint8_t *bytes, size_t cap)
{
    size_t len = LEDGER_HEADER_BYTES + LEDGER_RECORD_BYTES * ((size_t)l->count + 1);
    struct ledger_record record = {.kind = LEDGER_EPOCHS, .epochs_to = l->epochs_to};
    uint64_t number = l->next;

    HF_ASSERT(len <= cap);
    put_header(bytes, (uint32_t)l->count + 1, number);
    bytes += LEDGER_HEADER_BYTES;
    ledger_encode(&record, number++, bytes);
    for (uint16_t i = 0; i < l->count; i++) {
        bytes += LEDGER_RECORD_BYTES;
        record = (struct ledger_record){.kind = LEDGER_KEPT, .vf = l->vfs[i]};
        ledger_encode(&record, number++, bytes);
    }
    return len;
}

static enum hf_code load_header(struct ledger *l, const uint8_t *bytes, size_t len, uint32_t *kept,
                                struct hf_err *err)
{
    struct hf_reader r;
    uint8_t magic[MAGIC_BYTES];
    uint32_t version;

    if (len < LEDGER_HEADER_BYTES)
        return hf_err_set(err, HF_EBAD, "byte 0: %zu bytes are no ledger", len);
    r = hf_reader_on(bytes + CRC_BYTES, LEDGER_HEADER_BYTES - CRC_BYTES);
    hf_get_bytes(&r, magic, sizeof magic);
    version = hf_get_u32(&r);
    *kept = hf_get_u32(&r);
    l->next = hf_get_u64(&r);
    if (memcmp(magic, MAGIC, MAGIC_BYTES) != 0 || !crc_fits(bytes, LEDGER_HEADER_BYTES) ||
        !is_zero(r.at + r.pos, r.len - r.pos))
        return hf_err_set(err, HF_EBAD, "byte 0: this is not the beginning of a ledger");
    if (version != VERSION)
        return hf_err_set(err, HF_EBAD, "byte 8: version %u, this program reads %d",
                          (unsigned)version, (int)VERSION);
    /* The number of a record is below 2^63, so that it never comes round. */
    if (*kept == 0 || *kept > LEDGER_VFS_MAX + 1 || l->next == 0 || l->next > INT64_MAX)
        return hf_err_set(err, HF_EBAD, "byte 12: a ledger does not begin so");
    return HF_OK;
}

/* Record i of the file, of which the first `kept` were there when it was begun. */
static enum hf_code load_record(struct ledger *l, const uint8_t *at, uint32_t i, uint32_t kept,
                                struct hf_err *err)
{
    struct ledger_record record;
    uint64_t number;

    if (!decode(at, &record, &number))
        return hf_err_set(err, HF_EBAD, "it has a value that does not exist");
    if (number != l->next)
        return hf_err_set(err, HF_EBAD, "it is record %llu and should be %llu",
                          (unsigned long long)number, (unsigned long long)l->next);
    if ((i == 0 && record.kind != LEDGER_EPOCHS) ||
        (i > 0 && (record.kind == LEDGER_KEPT) != (i < kept)))
        return hf_err_set(err, HF_EBAD, "a record of its kind does not belong here");
    return change(l, &record, err);
}

enum hf_code ledger_load(struct ledger *l, const uint8_t *bytes, size_t len, size_t *torn,
                         struct hf_err *err)
{
    size_t at = LEDGER_HEADER_BYTES;
    uint32_t kept = 0;

    ledger_init(l);
    *torn = 0;
    if (load_header(l, bytes, len, &kept, err) != HF_OK)
        return err->code;
    /* The first record must rise above nothing. */
    l->epochs_to = 0;
    for (uint32_t i = 0; at < len; i++, at += LEDGER_RECORD_BYTES) {
        bool is_last = len - at <= LEDGER_RECORD_BYTES;

        if (len - at < LEDGER_RECORD_BYTES || !crc_fits(bytes + at, LEDGER_RECORD_BYTES)) {
            /* Every record is on disk before the next is begun, and what a file begins with before
             * it has its name: only the last one after those can have been cut. */
            if (is_last && i >= kept) {
                *torn = len - at;
                break;
            }
            return hf_err_set(err, HF_EBAD, "byte %zu: record %u is damaged", at, (unsigned)i);
        }
        if (load_record(l, bytes + at, i, kept, err) != HF_OK)
            return hf_err_wrap(err, "byte %zu: record %u", at, (unsigned)i);
    }
    if ((at - LEDGER_HEADER_BYTES) / LEDGER_RECORD_BYTES < kept)
        return hf_err_set(err, HF_EBAD, "byte %zu: it ends before its %u first records do", len,
                          (unsigned)kept);
    ledger_check(l);
    return HF_OK;
}

void ledger_check(const struct ledger *l)
{
    HF_ASSERT(l->count <= LEDGER_VFS_MAX);
    HF_ASSERT(l->next > 0);
    for (uint16_t i = 0; i < l->count; i++) {
        HF_ASSERT(vf_pci_is_name(l->vfs[i].vf));
        HF_ASSERT(l->vfs[i].phase < LEDGER_PHASES);
    }
}
