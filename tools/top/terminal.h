/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows ncurses: a canvas goes out, keys come in. The terminal is given back as
 * it was on every exit of the program, whoever calls exit(), and on signals that the caller turns
 * into a return.
 */
#ifndef FAULTLINE_TOP_TERMINAL_H
#define FAULTLINE_TOP_TERMINAL_H

#include "tools/top/canvas.h"

#define TERMINAL_NO_KEY -1

/*
 * Takes over the terminal; keys come from /dev/tty when stdin is something else. NO_COLOR in the
 * environment, or a terminal without colours, leaves bold and reverse. -ENOTTY, -ENOMEM.
 */
int terminal_open(void);
void terminal_close(void);

void terminal_size(int *rows, int *columns);
bool terminal_unicode(void);
void terminal_show(const struct canvas *canvas);
/* Takes the terminal over again after others had it; all is painted anew. */
void terminal_resume(void);

/*
 * Waits up to timeout_ms for a key: a character, an enum top_key, or TERMINAL_NO_KEY on timeout, on
 * a signal and after a change of size. Ctrl-L also makes the next terminal_show() paint everything.
 * -EIO if the terminal has gone.
 */
int terminal_key(int timeout_ms);

#endif
