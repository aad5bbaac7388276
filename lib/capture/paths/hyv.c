// SPDX-License-Identifier: GPL-2.0
/* Emulated devices whose control goes through the hypervisor (docs/hyv.md): verbs, pins, exits, work requests. */
#include "lib/capture/paths/rows.h"

#define HYV_ROW(ID, probe, KIND, lack)                                               \
	{                                                                            \
		PROBE_##ID, #probe, &emu_object, EVENT_##KIND, METHODS(USDT(probe)), \
			.unaccused = "no device need have a mode", .without = (lack) \
	}

static const struct probe_row rows[] = {
	HYV_ROW(VERB, verb, VERB,
		"which verbs guests called is not known, nor what became of them"),
	HYV_ROW(VERB_STAGES, verb_stages, VERB_STAGE,
		"in which stages verbs spent their time is not known"),
	HYV_ROW(VERB_WOKEN, verb_woken, VERB_WOKEN,
		"how long callers of verbs were not woken is not known"),
	HYV_ROW(PINNED, pinned, PINNED,
		"how much memory of guests was pinned is not known, nor which pins were refused"),
	HYV_ROW(REGISTERED, registered, REGISTERED,
		"how much memory guests had registered is not known"),
	HYV_ROW(GUEST_EXITS, guest_exits, GUEST_EXITS,
		"how often guests and hypervisor changed over is not known"),
	HYV_ROW(GUEST_STATE, guest_state, GUEST_STATE,
		"when processes of guests began and ended is not known"),
	HYV_ROW(WORK_REQUEST, work_request, WORK_REQUEST,
		"stages of work requests are not known, nor how many there were"),
};

const struct path hyv_path = {
	.name = "hybrid guests",
	.needs = "install faultline-inject, or --emulator PATH",
	ROWS(rows),
};
