/* The subcommands: one function each in a file of its own, and one table of them (main.c). argv[0]
 * is the subcommand's name; the result is the exit status. */
#ifndef TIDEMARK_COMMANDS_COMMANDS_H
#define TIDEMARK_COMMANDS_COMMANDS_H

int cmd_record(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_count(int argc, char **argv);
int cmd_collect(int argc, char **argv); /* for the recorder's own use, not listed */
int cmd_report(int argc, char **argv);
int cmd_insight(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_content(int argc, char **argv);
int cmd_held(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_html(int argc, char **argv);
int cmd_viewer(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_at(int argc, char **argv);
int cmd_blocks(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_job(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_maps(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_unpack(int argc, char **argv);

#endif
