/* The command `tidemark doctor`: what works on this machine. It lets the doctor room look at the
 * machine, at tools and at a trial recording. The exit status says whether something does not
 * work. */
#include "commands/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/options.h"
#include "base/term.h"
#include "commands/launch.h"
#include "commands/output.h"
#include "doctor/doctor.h"

enum { USUAL_MOST_COLUMNS = 120, EXIT_PROBLEMS = 1 };

struct arguments {
    int colour;
    uint64_t width;
    bool json, try_it;
};

#define TO(field) OPTION_TO(struct arguments, field)

static const struct option_entry entries[] = {
    {"try", 0, OPTION_SWITCH, NULL, "record 'true' to see whether it works (default: yes)",
     TO(try_it), false, NULL},
    {"json", 'j', OPTION_FLAG, NULL, "JSON", TO(json), false, NULL},
    {"color", 0, OPTION_CHOICE, TERM_COLOUR_CHOICE, "colour (default: auto; NO_COLOR is respected)",
     TO(colour), true, NULL},
    {"width", 'w', OPTION_NUMBER, "COLUMNS",
     "as wide as this, 72 at least (default: the terminal, else 80)", TO(width), true, NULL},
    OPTION_GROUP_END};

static const struct options_command command = {
    .name = "doctor",
    .synopsis = "[options] [PROGRAM…]",
    .purpose = "Says what of Tidemark works on this machine, and of programs whether they can be "
               "recorded and will have names; and what to do where something is missing. The exit "
               "status is 1 where recording does not work.",
    .entries = entries,
    .epilogue = "Examples:\n"
                "  tidemark doctor\n"
                "  tidemark doctor ./solver\n",
};

int cmd_doctor(int argc, char **argv)
{
    struct arguments arguments = {.try_it = true};
    struct doctor doctor = {0};
    char self[PATH_MAX + sizeof "tidemark"];
    int operand = options_parse(&command, argc, argv, &arguments);
    if (operand < 0)
        return OPTIONS_EXIT_STATUS(operand);
    ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
    if (length < 0)
        return output_complain("doctor", "/proc cannot be read: mount it, nothing works without");
    self[length] = 0;
    if (launch_is_bundled(self)) /* its launcher stands beside the loader, and has a longer name */
        strcpy(strrchr(self, '/') + 1, "tidemark");
    doctor_look_at_machine(&doctor);
    doctor_look_at_tools(&doctor, self);
    if (arguments.try_it)
        doctor_try_recording(&doctor, self);
    for (int i = operand; i < argc; i++)
        doctor_look_at_program(&doctor, argv[i]);
    bool colour = term_wants_colour((enum term_colour)arguments.colour, stdout);
    int error = arguments.json ? doctor_json(stdout, &doctor)
                               : doctor_text(stdout, &doctor, colour,
                                             output_columns(arguments.width, USUAL_MOST_COLUMNS));
    size_t problems = doctor_problems(&doctor);
    doctor_release(&doctor);
    if (error && error != -EPIPE)
        return output_complainf("doctor", "cannot write: %s", strerror(-error));
    return problems ? EXIT_PROBLEMS : 0;
}
