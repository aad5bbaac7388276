// SPDX-License-Identifier: GPL-2.0
/*
 * What `make static` links besides: a program that is one file must not ask the host that it is copied to for shared
 * objects, which would be of another C library.
 *
 * Debian's libmicrohttpd.a is built with TLS, and of GnuTLS's own dependencies some have no archive. Nothing here
 * starts a server with MHD_USE_TLS, without which none of these functions is called: should one be, the program ends.
 */
#include <nss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name, *description; /* "hex:...", as ncurses takes it from TERMINFO */
} terminals[] = {
#include "terminals.h"
};

/* Before main(): names of users and hosts from files; other sources of nsswitch.conf are shared objects. */
__attribute__((constructor)) static void names_from_files(void)
{
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
	__nss_configure_lookup("hosts", "files");
	__nss_configure_lookup("services", "files");
}

/* A host without ncurses' files still has a terminal of a common kind. */
__attribute__((constructor)) static void terminal_from_here(void)
{
	static const char *const folders[] = {"/lib/terminfo", "/usr/share/terminfo"};
	const char *type = getenv("TERM");

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!access(folders[i], F_OK))
			return;
	for (size_t i = 0; type && i < sizeof(terminals) / sizeof(terminals[0]); i++)
		if (!strcmp(type, terminals[i].name))
			setenv("TERMINFO", terminals[i].description, 0);
}

static void no_tls(const char *name)
{
	fprintf(stderr, "faultline: %s: this static program has no TLS\n", name);
	abort();
}

/* libmicrohttpd sets GnuTLS up whether it is used or not. */
int gnutls_global_init(void);
int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void);
void gnutls_global_deinit(void)
{
}

#define NO_TLS(name)           \
	void name(void);       \
	void name(void)        \
	{                      \
		no_tls(#name); \
	}

NO_TLS(gnutls_alpn_set_protocols)
NO_TLS(gnutls_bye)
NO_TLS(gnutls_certificate_allocate_credentials)
NO_TLS(gnutls_certificate_free_credentials)
NO_TLS(gnutls_certificate_server_set_request)
NO_TLS(gnutls_certificate_set_dh_params)
NO_TLS(gnutls_certificate_set_retrieve_function2)
NO_TLS(gnutls_certificate_set_retrieve_function3)
NO_TLS(gnutls_certificate_set_x509_key_mem)
NO_TLS(gnutls_certificate_set_x509_key_mem2)
NO_TLS(gnutls_certificate_set_x509_trust_mem)
NO_TLS(gnutls_cipher_get)
NO_TLS(gnutls_credentials_set)
NO_TLS(gnutls_deinit)
NO_TLS(gnutls_dh_params_deinit)
NO_TLS(gnutls_dh_params_import_pkcs3)
NO_TLS(gnutls_dh_params_init)
NO_TLS(gnutls_handshake)
NO_TLS(gnutls_init)
NO_TLS(gnutls_malloc)
NO_TLS(gnutls_priority_deinit)
NO_TLS(gnutls_priority_init)
NO_TLS(gnutls_priority_set)
NO_TLS(gnutls_protocol_get_version)
NO_TLS(gnutls_psk_allocate_server_credentials)
NO_TLS(gnutls_psk_free_server_credentials)
NO_TLS(gnutls_psk_set_server_credentials_function)
NO_TLS(gnutls_record_check_pending)
NO_TLS(gnutls_record_get_direction)
NO_TLS(gnutls_record_recv)
NO_TLS(gnutls_record_send)
NO_TLS(gnutls_session_get_ptr)
NO_TLS(gnutls_session_set_ptr)
NO_TLS(gnutls_strerror)
NO_TLS(gnutls_transport_set_int2)
