#include "supervisord/ctl/nics.h"

#include "supervisord/model/names.h"

const char *nics_fabric_name(hf_fabric fabric)
{
    static const char *const names[HF_FABRICS_MAX] = {"a", "b"};

    return fabric < HF_FABRICS_MAX ? names[fabric] : "?";
}

static void put_fabric(struct hf_json *j, const char *key, hf_fabric fabric)
{
    hf_json_str(j, key, fabric < HF_FABRICS_MAX ? nics_fabric_name(fabric) : NULL);
}

/* ---- flips ---- */

static void put_us(struct hf_json *j, const char *key, uint32_t us)
{
    if (us == UINT32_MAX)
        hf_json_null(j, key);
    else
        hf_json_u64(j, key, us);
}

void nics_put_flip(struct hf_json *j, const char *key, const struct hf_flip *flip, const char *vm)
{
    char time[40];

    history_wall_text((hf_wall){flip->wall_ns}, time);
    hf_json_object(j, key);
    hf_json_u64(j, "epoch", flip->epoch);
    hf_json_str(j, "time", flip->wall_ns != 0 ? time : NULL);
    hf_json_u64(j, "uid", flip->uid);
    hf_json_str(j, "vm", vm);
    put_fabric(j, "from", flip->from);
    put_fabric(j, "to", flip->to);
    hf_json_str(j, "cause", hf_nic_cause_name(flip->cause));
    hf_json_str(j, "cause_text", hf_nic_cause_text(flip->cause));
    hf_json_str(j, "method", hf_flip_method_name(flip->method));
    hf_json_str(j, "outcome", hf_flip_outcome_name(flip->outcome));
    hf_json_u64(j, "judged_us", flip->judged_us);
    put_us(j, "ordered_us", flip->ordered_us);
    put_us(j, "confirmed_us", flip->confirmed_us);
    hf_json_end_object(j);
}
