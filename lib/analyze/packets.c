// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/packets.h"

#define STATES	 6
#define STATUSES 22

const char *pair_state_name(unsigned int state)
{
	static const char *const names[STATES] = {"reset", "init", "rtr", "rts", "sqe", "error"};

	return state < STATES ? names[state] : "unknown";
}

const char *pair_status_name(unsigned int status)
{
	static const char *const names[STATUSES] = {
		[0] = "SUCCESS",	[1] = "LOC_LEN_ERR",	 [2] = "LOC_QP_OP_ERR",
		[4] = "LOC_PROT_ERR",	[5] = "WR_FLUSH_ERR",	 [7] = "BAD_RESP_ERR",
		[8] = "LOC_ACCESS_ERR", [9] = "REM_INV_REQ_ERR", [10] = "REM_ACCESS_ERR",
		[11] = "REM_OP_ERR",	[12] = "RETRY_EXC_ERR",	 [13] = "RNR_RETRY_EXC_ERR",
		[18] = "FATAL_ERR",	[21] = "GENERAL_ERR",
	};

	return status < STATUSES && names[status] ? names[status] : "unknown";
}
