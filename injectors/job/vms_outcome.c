// SPDX-License-Identifier: GPL-2.0
/* What virtual machines have come to, once they are stopped. */
#include <math.h>
#include <string.h>

#include "injectors/job/vms_private.h"

void vms_outcome(const struct vms *vms, struct vms_outcome *outcome)
{
	__u64 begin_ns = ~0ull, end_ns = 0;

	*outcome = (struct vms_outcome){.seconds = NAN};
	for (int key = 0; key < GUEST_KEYS; key++)
		outcome->values[key] = NAN;
	for (__u32 i = 0; vms && i < vms->count; i++) {
		const struct vm *vm = &vms->list[i];

		outcome->ended += vm->by_itself;
		outcome->plugged += vm->plugged;
		outcome->panicked += vm_console_panicked(vm->console);
		outcome->sound += vm->by_itself && vm_console_sound(vm->console);
		for (int key = 0; key < GUEST_KEYS; key++)
			vm_console_value(vm->console, (enum guest_key)key, &outcome->values[key]);
		if (vm->begin_ns && vm->begin_ns < begin_ns)
			begin_ns = vm->begin_ns;
		if (vm->end_ns > end_ns)
			end_ns = vm->end_ns;
	}
	if (end_ns > begin_ns)
		outcome->seconds = (double)(end_ns - begin_ns) / 1e9;
}

void vms_told(const struct vms *vms, char *text, size_t size)
{
	size_t used = strlen(text);

	for (__u32 i = 0; vms && i < vms->count; i++) {
		const char *line = vm_console_told(vms->list[i].console);

		while (*line) {
			size_t end = strcspn(line, "\n"),
			       room = strlen(vms->list[i].tenant->name) + end + 4;

			if (used + room > size)
				return;
			used += (size_t)snprintf(text + used, size - used, "%s: %.*s\n",
						 vms->list[i].tenant->name, (int)end, line);
			line += end + (line[end] == '\n');
		}
	}
}
