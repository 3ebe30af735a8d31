/* elsewhere WAY FOLDER NAME: becomes, or starts, the program of a name in another folder than its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(int in_folder, char **words) {
    char name[100], *arguments[] = {words[3], NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status, error = posix_spawn_file_actions_init(&actions);
    snprintf(name, sizeof name, "./%s", words[3]);
    error |= in_folder >= 0 ? posix_spawn_file_actions_addfchdir_np(&actions, in_folder)
                            : posix_spawn_file_actions_addchdir_np(&actions, words[2]);
    if (error || posix_spawn(&child, name, &actions, NULL, arguments, environ)) return 3;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    char *arguments[] = {words[3], NULL};
    int folder = open(words[2], O_PATH | O_DIRECTORY);
    if (!strcmp(words[1], "chdir")) return start(-1, words);
    if (!strcmp(words[1], "fchdir")) return start(folder, words);
    if (!strcmp(words[1], "execveat")) execveat(folder, words[3], arguments, environ, 0);
    if (!strcmp(words[1], "descriptor"))
        execveat(openat(folder, words[3], O_PATH | O_CLOEXEC), "", arguments, environ, AT_EMPTY_PATH);
    perror(words[1]);
    return 5;
}
