/* SPDX-License-Identifier: GPL-2.0 */
/* Text within HTML: names of strangers stay text, whatever they hold. */
#ifndef FAULTLINE_HTML_H
#define FAULTLINE_HTML_H

#include <stdio.h>

/* As printable() shows it, with & < > and quotes escaped: for content and for quoted attributes. */
void html_text(FILE *file, const char *text);

#endif
