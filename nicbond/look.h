/* look.h - what a card tells about itself, by calls that may wait for its controller: serial
 * number, firmware, sensors, optics, and whether its configuration space still answers. In the
 * rtnetlink worker, because ethtool's calls take RTNL and a dying controller keeps them for 10 s.
 */
#ifndef NICBOND_LOOK_H
#define NICBOND_LOOK_H

#include "agents/nic/watch.h"

/* Each part that does not answer stays unknown. */
void look_run(const char *root, const struct nic_place *place, struct watch_helped *out);

/* Between worker and hot loop. */
size_t look_encode(const struct watch_helped *helped, uint8_t *bytes, size_t cap);
bool look_decode(const uint8_t *bytes, size_t len, struct watch_helped *helped);

#endif
