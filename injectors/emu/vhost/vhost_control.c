// SPDX-License-Identifier: GPL-2.0
/* The socket's thread: one front-end after another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/thread.h"
#include "injectors/emu/vhost/vhost_private.h"

#define ACCEPT_PAUSE_NS (10 * NSEC_PER_MSEC)

/* The next front-end. 0; -ECANCELED: the device stops. */
static int control_accept(struct vhost *vhost)
{
	struct pollfd polled[] = {{.fd = vhost->stop, .events = POLLIN},
				  {.fd = vhost->listening, .events = POLLIN}};

	for (;;) {
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return -ECANCELED;
		if (atomic_load(&vhost->stopping))
			return -ECANCELED;
		vhost->connected =
			accept4(vhost->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (vhost->connected >= 0)
			return 0;
		if (errno != EAGAIN) /* no descriptors: not for ever, hopefully */
			sleep_until(monotonic_ns() + ACCEPT_PAUSE_NS);
	}
}

static void set_connected(struct vhost *vhost, bool connected)
{
	pthread_mutex_lock(&vhost->lock);
	vhost->is_connected = connected;
	vhost->driven = false;
	pthread_cond_broadcast(&vhost->changed);
	pthread_mutex_unlock(&vhost->lock);
}

/* Until it hangs up, or says what makes no sense. */
static void control_serve(struct vhost *vhost)
{
	struct vhost_user_message message;
	struct vhost_files files;
	int got = 1;

	while (got > 0) {
		got = vhost_receive(vhost, &message, &files);
		if (got > 0) {
			atomic_fetch_add(&vhost->messages, 1);
			if (message.header.request != VHOST_USER_IOTLB_MSG)
				vhost->restart_look_ns = monotonic_ns() + VHOST_RESTART_LOOK_NS;
			got = vhost_handle(vhost, &message, &files);
			got = got ? got : 1;
		}
		vhost_files_close(&files);
	}
	if (got == -EPROTO) {
		atomic_fetch_add(&vhost->refused, 1);
		failed_in(got, "its front-end is disconnected");
		vhost_say(vhost, failure_text());
	}
}

/* Nothing of a front-end's outlives its connection but what it has kept: the in-flight region. */
static void control_disconnect(struct vhost *vhost)
{
	set_connected(vhost, false);
	vrings_reset(vhost);
	inflight_unmap(vhost->inflight);
	vhost->inflight = NULL;
	vhost_iotlb_channel(vhost, -1);
	vhost_iotlb_forget(vhost);
	close(vhost->connected);
	vhost->connected = -1;
	vhost->features = vhost->protocol_features = 0;
	pthread_mutex_lock(&vhost->lock);
	vhost->table.count = 0;
	pthread_mutex_unlock(&vhost->lock);
}

void *vhost_control_thread(void *argument)
{
	struct vhost *vhost = argument;

	while (!control_accept(vhost)) {
		atomic_fetch_add(&vhost->connections, 1);
		set_connected(vhost, true);
		control_serve(vhost);
		control_disconnect(vhost);
	}
	return NULL;
}
