/* cmd_cards.h - this node's network cards, compared with what flips need, for `holdfast config
 * check`. Waits 2 s at most for each: a card whose controller is dead blocks whoever asks. */
#ifndef SUPERVISORD_CTL_CMD_CARDS_H
#define SUPERVISORD_CTL_CMD_CARDS_H

#include "supervisord/config/cards.h"
#include "supervisord/ctl/cmd.h"

struct cmd_cards {
    char node[HF_NAME_MAX + 1];
    struct findings verdict;
};

/* Everything that this node's sysfs and kernel tell of the cards that the cluster file names for
 * it. sys: where sysfs is mounted; anywhere but CMD_SYS the kernel itself is not asked. */
void cmd_cards_look(const struct hf_config *config, hf_node node, const char *sys,
                    struct cmd_cards *look);
/* And what helpers of the VMs here tell of their bonds, if a daemon is there to ask. */
void cmd_cards_guests(const struct cmd *cmd, struct cmd_cards *look);
bool cmd_cards_is_bad(const struct cmd_cards *look);
void cmd_cards_print(const struct cmd_cards *look);
json_t *cmd_cards_json(const struct cmd_cards *look);

/* What the cluster file alone says about fabrics, as sentences for `warnings`. */
void cmd_cards_warn(const struct hf_config *config, json_t *warnings);

#endif
