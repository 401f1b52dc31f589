/* Sets up the terminal for top, and restores it (top_terminal.h). Signals that ask the process to
 * end set a flag for the loop. Handlers of fatal signals write prepared bytes that restore the
 * terminal, because a signal handler may not call ncurses. */
#include "top/top_terminal.h"
#include "base/term_guard.h"

#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

enum { ENDLESS_KEYS = 64 }; /* so many times ready to read without a key: the terminal is gone */

static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int failing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define COUNT(array) (sizeof array / sizeof *(array))

static volatile sig_atomic_t top_terminal_asked; /* the signal that asked us to end */
static bool top_terminal_begun, top_terminal_lost;
static struct termios top_terminal_before;
static char top_terminal_way_back[256];
static size_t top_terminal_way_back_bytes;

static void terminal_note(int signal)
{
    top_terminal_asked = signal;
}

static void terminal_restore_and_fail(int signal)
{
    if (write(STDOUT_FILENO, top_terminal_way_back, top_terminal_way_back_bytes) >= 0)
        tcsetattr(STDIN_FILENO, TCSANOW, &top_terminal_before);
    raise(signal); /* SA_RESETHAND: the default action */
}

static void terminal_add_to_way_back(const char *text)
{
    if (!text || text == (char *)-1)
        return;
    size_t length = strlen(text);
    if (length > sizeof top_terminal_way_back - top_terminal_way_back_bytes)
        return;
    memcpy(top_terminal_way_back + top_terminal_way_back_bytes, text, length);
    top_terminal_way_back_bytes += length;
}

static void terminal_add_way_back(const char *capability)
{
    terminal_add_to_way_back(tigetstr(capability));
}

/* Makes terminals with a mouse stop sending clicks. */
static void terminal_add_mouse_off(void)
{
    const char *mouse = tigetstr("kmous"), *mode = tigetstr("XM");
    if (mouse && mouse != (char *)-1)
        terminal_add_to_way_back(mode && mode != (char *)-1 ? tiparm(mode, 0)
                                                            : "\033[?1000l\033[?1006l");
}

static void terminal_set_handlers(void)
{
    struct sigaction action = {.sa_handler = terminal_note};
    for (size_t i = 0; i < COUNT(asking); i++)
        sigaction(asking[i], &action, NULL);
    action = (struct sigaction){.sa_handler = terminal_restore_and_fail, .sa_flags = SA_RESETHAND};
    for (size_t i = 0; i < COUNT(failing); i++)
        sigaction(failing[i], &action, NULL);
}

static void terminal_give_back(void)
{
    if (top_terminal_begun)
        endwin();
    top_terminal_begun = false;
}

/* Presses alone, without waiting for double clicks. */
static void terminal_set_mouse(void)
{
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
}

static void terminal_set_up(bool colour)
{
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
    terminal_set_mouse();
    if (!colour || !has_colors())
        return;
    start_color();
    use_default_colors();
    init_pair(1, COLOR_CYAN, -1);
    init_pair(2, COLOR_GREEN, -1);
    init_pair(3, COLOR_RED, -1);
    init_pair(4, COLOR_YELLOW, -1);
    init_pair(5, COLOR_BLUE, -1);
    init_pair(6, COLOR_MAGENTA, -1);
}

int terminal_begin(bool colour, struct strbuf *why)
{
    if (tcgetattr(STDIN_FILENO, &top_terminal_before)) {
        strbuf_add_string(why, "stdin is no terminal");
        return -ENOTTY;
    }
    setlocale(LC_CTYPE, "");
    int error;
    if (setupterm(NULL, STDOUT_FILENO, &error) == ERR) {
        const char *name = getenv("TERM");
        strbuf_addf(why, "the terminal '%s' (TERM) is not known here: use --plain",
                    name ? name : "");
        return -ENOTTY;
    }
    terminal_add_way_back("sgr0");
    terminal_add_way_back("cnorm");
    terminal_add_way_back("rmkx");
    terminal_add_mouse_off();
    terminal_add_way_back("rmcup");
    top_terminal_asked = 0;
    terminal_set_handlers();
    atexit(terminal_give_back);
    if (!newterm(NULL, term_guard_raw(), stdin)) {
        strbuf_add_string(why, "the terminal cannot be used: use --plain");
        return -ENOTTY;
    }
    top_terminal_begun = true;
    terminal_set_up(colour);
    return 0;
}

void terminal_end(void)
{
    terminal_give_back();
    for (size_t i = 0; i < COUNT(asking); i++)
        signal(asking[i], SIG_DFL);
    for (size_t i = 0; i < COUNT(failing); i++)
        signal(failing[i], SIG_DFL);
    if (top_terminal_asked)
        raise(top_terminal_asked);
}

bool terminal_is_over(void)
{
    return top_terminal_asked || top_terminal_lost;
}

int terminal_key(int milliseconds)
{
    static int nothing;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&input, 1, milliseconds);
    int key = getch();
    nothing = ready > 0 && key == ERR ? nothing + 1 : 0;
    top_terminal_lost = top_terminal_lost || nothing > ENDLESS_KEYS ||
                        (ready > 0 && (input.revents & (POLLERR | POLLNVAL)));
    return key;
}
