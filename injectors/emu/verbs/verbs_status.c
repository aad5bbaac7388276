// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs/verbs_layout.h"

const char *verbs_status_name(enum verbs_status status)
{
	/* As ibv_wc_status_str(). */
	static const char *const names[VERBS_STATUSES] = {
		[VERBS_SUCCESS] = "success",
		[VERBS_LOC_LEN_ERR] = "local length error",
		[VERBS_LOC_QP_OP_ERR] = "local QP operation error",
		[VERBS_LOC_PROT_ERR] = "local protection error",
		[VERBS_WR_FLUSH_ERR] = "Work Request Flushed Error",
		[VERBS_BAD_RESP_ERR] = "bad response error",
		[VERBS_LOC_ACCESS_ERR] = "local access error",
		[VERBS_REM_INV_REQ_ERR] = "remote invalid request error",
		[VERBS_REM_ACCESS_ERR] = "remote access error",
		[VERBS_REM_OP_ERR] = "remote operation error",
		[VERBS_RETRY_EXC_ERR] = "transport retry counter exceeded",
		[VERBS_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
		[VERBS_FATAL_ERR] = "fatal error",
		[VERBS_GENERAL_ERR] = "general error",
	};

	return (unsigned int)status < VERBS_STATUSES && names[status] ? names[status] : "unknown";
}
