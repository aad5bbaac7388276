/* SPDX-License-Identifier: GPL-2.0 */
/* What libbpf and the verifier say when something does not load, put into a few words. */
#ifndef FAULTLINE_VERIFIER_LOG_H
#define FAULTLINE_VERIFIER_LOG_H

/* A lockdown of "confidentiality" takes the helpers away that read the kernel's memory
 * (bpf_tracing_func_proto()); what the verifier says of it is this here. */
#define VERIFIER_LOCKED_DOWN "the kernel is locked down: BPF may not read its memory"

/* Forgets what was said, listens from now on. */
void verifier_log_begin(void);
/* The verifier's last word, else libbpf's first; "" if nothing was said. */
const char *verifier_log_text(void);
/* The BPF program that was spoken of, "" if none was. */
const char *verifier_log_program(void);

#endif
