/* LINK: nicbond */
/* fuzz_status_xml.c - any bytes as libvirt's status file of a VM: no domain, or names that may
 * stand in a path and numbers in their ranges. Its NICs, as what a worker is to tell libvirt. */
#include <stdlib.h>
#include <string.h>

#include "nicbond/legs.h"
#include "nicbond/method.h"
#include "nicbond/vf_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_nic(const struct legs_nic *nic)
{
    if (nic->kind == HF_LEG_VF ? !vf_pci_is_name(nic->pci)
                               : nic->device[0] == '\0' || strchr(nic->device, '/') != NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct legs_vm vm;
    struct hf_err err;
    char *xml = NULL;

    legs_init();
    if (legs_parse("mq-1", (const char *)bytes, len, &vm, &err) == HF_EBAD)
        return 0;
    if (vm.nics_count > LEGS_NICS_MAX || vm.priority > HF_PRIORITY_MAX)
        abort();
    for (unsigned i = 0; i < vm.nics_count; i++) {
        check_nic(&vm.nic[i]);
        if (method_link_xml((const char *)bytes, len, vm.nic[i].mac, true, &xml, &err) == HF_OK)
            free(xml);
    }
    return 0;
}
