/* SPDX-License-Identifier: GPL-2.0 */
/* What a [device] of any model with a vhost face can be told: the first places of its settings. */
#ifndef FAULTLINE_VHOST_SETTINGS_H
#define FAULTLINE_VHOST_SETTINGS_H

#include <stdbool.h>

/* Of a request whose data is absent: others of its queue go on, or the queue waits for it. */
enum vhost_on_fault { VHOST_PARK, VHOST_PAUSE };

struct vhost_settings {
	char socket
		[108]; /* of vhost-user, ours to make; empty: the device is driven by its channel */
	enum vhost_on_fault on_fault;
	bool bypass; /* a control: data is moved past the pager */
};

#endif
