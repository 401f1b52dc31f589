/* Commands with a screen of their own (serve, html, viewer, top) are in another program,
 * tidemark-view, which has all commands of this one as well. Their libraries (an HTTP server with
 * TLS, a terminal's) are therefore not loaded by each `tidemark record`: loading them took two
 * thirds of a command's start. */
#include "commands/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/memory.h"
#include "base/options.h"
#include "commands/launch.h"

static bool forward_find(char path[PATH_MAX])
{
    static const char *const tails[] = {
        "../libexec/tidemark/tidemark-view",
        "../" TIDEMARK_LIBEXECDIR "/tidemark/tidemark-view",
    };
    char self[2 * PATH_MAX] = "";
    char *slash = launch_own_path(self) ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof tails / sizeof *tails; i++) {
        strcpy(slash + 1, tails[i]);
        if (realpath(self, path) && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* `argv` begins with the command. */
static int forward(int argc, char **argv)
{
    char path[PATH_MAX], self[] = "tidemark";
    char **arguments = memory_need(calloc((size_t)argc + 2, sizeof *arguments));
    arguments[0] = self;
    memcpy(arguments + 1, argv, (size_t)argc * sizeof *argv);
    if (!forward_find(path)) {
        fprintf(
            stderr,
            "tidemark %s: tidemark-view is not beside this program (../libexec/tidemark); is the "
            "installation whole?\n",
            argv[0]);
    } else {
        launch_become(path, arguments);
        fprintf(stderr, "tidemark %s: cannot run %s: %s\n", argv[0], path, strerror(errno));
    }
    free(arguments);
    return OPTIONS_EXIT_FAILURE;
}

int cmd_serve(int argc, char **argv)
{
    return forward(argc, argv);
}

int cmd_html(int argc, char **argv)
{
    return forward(argc, argv);
}

int cmd_viewer(int argc, char **argv)
{
    return forward(argc, argv);
}

int cmd_top(int argc, char **argv)
{
    return forward(argc, argv);
}
