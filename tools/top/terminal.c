// SPDX-License-Identifier: GPL-2.0
#include "tools/top/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Wide functions; without their macros, which would shadow common words. */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS
#include <ncurses.h>

#include "lib/base/fail.h"
#include "lib/base/signals.h"
#include "lib/base/units.h"
#include "tools/top/keys.h"

#define ESCAPE_DELAY_MS 25
#define ESCAPE		27
#define CONTROL_L	12

enum { PAIR_OK = 1, PAIR_WARN, PAIR_BAD };

static struct {
	SCREEN *screen;
	FILE *keys; /* /dev/tty, NULL while stdin serves */
	int descriptor;
	bool unicode;
	attr_t looks[STYLE_COUNT];
	short pairs[STYLE_COUNT];
} terminal;

/* ncurses holds sizes in shorts, and crashes where one wraps; no screen is as wide or as high. */
#define SIZE_MOST 1000

/* As ncurses has it: the environment's word before the terminal's, and neither before the default. */
static int length_of(const char *variable, int told, int now)
{
	const char *text = getenv(variable);
	__u64 wanted;

	if (text && !units_parse_count(text, 1, INT32_MAX, &wanted))
		told = (int)wanted;
	return told <= 0 ? now : told < SIZE_MOST ? told : SIZE_MOST;
}

/* Sizes are ours to ask for: ncurses must see none that it cannot hold. */
static void follow_size(void)
{
	struct winsize size = {0};
	int rows, columns;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	rows = length_of("LINES", size.ws_row, getmaxy(stdscr));
	columns = length_of("COLUMNS", size.ws_col, getmaxx(stdscr));
	if (is_term_resized(rows, columns))
		resizeterm(rows, columns);
}

static void set_looks(void)
{
	static const attr_t looks[STYLE_COUNT] = {
		[STYLE_PLAIN] = A_NORMAL,
		[STYLE_DIM] = A_DIM,
		[STYLE_STRONG] = A_BOLD,
		[STYLE_HEAD] = A_REVERSE,
		[STYLE_SELECTED] = A_REVERSE | A_BOLD,
		[STYLE_OK] = A_NORMAL,
		[STYLE_WARN] = A_BOLD,
		[STYLE_BAD] = A_BOLD | A_UNDERLINE,
	};
	const char *no_color = getenv("NO_COLOR");

	memcpy(terminal.looks, looks, sizeof(looks));
	memset(terminal.pairs, 0, sizeof(terminal.pairs));
	if ((no_color && *no_color) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(PAIR_OK, COLOR_GREEN, -1);
	init_pair(PAIR_WARN, COLOR_YELLOW, -1);
	init_pair(PAIR_BAD, COLOR_RED, -1);
	terminal.pairs[STYLE_OK] = PAIR_OK;
	terminal.pairs[STYLE_WARN] = PAIR_WARN;
	terminal.pairs[STYLE_BAD] = PAIR_BAD;
	terminal.looks[STYLE_BAD] = A_BOLD;
}

/* It ends poll(). */
static void on_new_size(int number)
{
	(void)number;
}

int terminal_open(void)
{
	static const struct sigaction noticed = {.sa_handler = on_new_size};
	static bool registered;
	FILE *input = stdin;

	setlocale(LC_CTYPE, "");
	terminal.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (!isatty(STDIN_FILENO)) {
		terminal.keys = fopen("/dev/tty", "re");
		if (!terminal.keys)
			return failed(-ENOTTY, "no terminal for keys: stdin is none and /dev/tty "
					       "cannot be opened; use -b");
		input = terminal.keys;
	}
	/* Whoever is in ncurses' place for the signal of a new size keeps it from asking. */
	signals_catch(&noticed, (const int[]){SIGWINCH}, 1);
	use_env(FALSE);
	terminal.screen = newterm(NULL, stdout, input);
	if (!terminal.screen) {
		const char *type = getenv("TERM");

		terminal_close();
		return failed(-ENOTTY,
			      "TERM=%s: ncurses does not know this terminal; set TERM or use -b",
			      type ? type : "");
	}
	if (!registered)
		atexit(terminal_close);
	registered = true;
	terminal.descriptor = fileno(input);
	set_escdelay(ESCAPE_DELAY_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	follow_size();
	set_looks();
	return 0;
}

void terminal_close(void)
{
	if (terminal.screen) {
		endwin();
		delscreen(terminal.screen);
		terminal.screen = NULL;
	}
	if (terminal.keys) {
		fclose(terminal.keys);
		terminal.keys = NULL;
	}
}

void terminal_resume(void)
{
	reset_prog_mode();
	clearok(curscr, TRUE);
}

void terminal_size(int *rows, int *columns)
{
	follow_size();
	getmaxyx(stdscr, *rows, *columns);
}

bool terminal_unicode(void)
{
	return terminal.unicode;
}

void terminal_show(const struct canvas *canvas)
{
	for (int row = 0; row < canvas->rows; row++)
		for (int column = 0; column < canvas->columns; column++) {
			const struct canvas_cell *cell =
				&canvas->cells[row * canvas->columns + column];
			wchar_t text[2] = {(wchar_t)cell->glyph, L'\0'};
			cchar_t glyph;

			/* ncurses sends only what differs from what the terminal already shows. */
			if (setcchar(&glyph, text, terminal.looks[cell->style],
				     terminal.pairs[cell->style], NULL) == OK)
				mvadd_wch(row, column, &glyph);
		}
	refresh();
}

static int terminal_translate(int key)
{
	switch (key) {
	case KEY_UP:
		return KEY_TOP_UP;
	case KEY_DOWN:
		return KEY_TOP_DOWN;
	case KEY_PPAGE:
		return KEY_TOP_PAGE_UP;
	case KEY_NPAGE:
		return KEY_TOP_PAGE_DOWN;
	case KEY_HOME:
		return KEY_TOP_HOME;
	case KEY_END:
		return KEY_TOP_END;
	case KEY_BTAB:
		return KEY_TOP_BACKTAB;
	case KEY_ENTER:
	case '\r':
	case '\n':
		return KEY_TOP_ENTER;
	case ESCAPE:
		return KEY_TOP_ESCAPE;
	case KEY_BACKSPACE:
	case '\b':
	case 127:
		return KEY_TOP_BACKSPACE;
	default:
		return key < 256 ? key : TERMINAL_NO_KEY;
	}
}

int terminal_key(int timeout_ms)
{
	struct pollfd wait = {.fd = terminal.descriptor, .events = POLLIN};
	int key = getch(); /* what an earlier read has left, and changes of size */

	if (key == ERR) {
		if (poll(&wait, 1, timeout_ms) > 0 && !(wait.revents & POLLIN))
			return -EIO;
		key = getch();
		/* Readable, but there is nothing: the terminal has been closed. */
		if (key == ERR && wait.revents & POLLIN && !isatty(terminal.descriptor))
			return -EIO;
	}
	if (key == CONTROL_L)
		clearok(curscr, TRUE);
	return key == ERR ? TERMINAL_NO_KEY : terminal_translate(key);
}
