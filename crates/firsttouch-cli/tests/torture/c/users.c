/* What allocates inside the C library: strings, streams, sorting, names of files, the environment. */
#include "torture.h"
#include <dirent.h>
#include <limits.h>

/* Lines longer than the least block that is placed. */
enum { LINES = 3 };
static const size_t line_bytes[LINES] = {70 * 1024, 1200 * 1024, 2500 * 1024};
static char lines_path[64];

void begin_users(void)
{
    int file = memfd_create("torture-lines", 0);
    CHECK(file >= 0);
    snprintf(lines_path, sizeof lines_path, "/proc/%d/fd/%d", getpid(), file);
    char part[1024];
    for (int line = 0; line < LINES; line++) {
        memset(part, 'a' + line, sizeof part);
        for (size_t at = 0; at < line_bytes[line]; at += sizeof part)
            CHECK(write(file, part, sizeof part) == (ssize_t)sizeof part);
        CHECK(write(file, "\n", 1) == 1);
    }
}

void op_strdup(struct worker *worker)
{
    size_t length = within_budget(worker, some_bytes(worker)) % (4 * MIB);
    char *text = malloc(length + 1);
    CHECK(text != NULL);
    memset(text, 'x', length);
    text[length] = 0;
    char *copy = below(worker, 2) ? strdup(text) : strndup(text, length + 5);
    CHECK(copy != NULL && strlen(copy) == length && (length == 0 || is_all(copy, length, 'x')));
    free(text);
    free(copy);
}

/* Each reading has a stream, and so a place in the file, of its own. */
void op_getline(struct worker *worker)
{
    (void)worker;
    FILE *stream = fopen(lines_path, "r");
    CHECK(stream != NULL);
    char *text = NULL;
    size_t room = 0;
    for (int line = 0; line < LINES; line++) {
        CHECK(getline(&text, &room, stream) == (ssize_t)line_bytes[line] + 1);
        CHECK(is_all(text, line_bytes[line], (unsigned char)('a' + line)) && text[line_bytes[line]] == '\n');
    }
    CHECK(getline(&text, &room, stream) == -1);
    free(text);
    fclose(stream);
}

void op_memstream(struct worker *worker)
{
    char *text = NULL, part[8 * 1024];
    size_t length = 0, parts = 1 + below(worker, 400);
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream != NULL);
    memset(part, 'm', sizeof part);
    for (size_t i = 0; i < parts; i++)
        CHECK(fwrite(part, sizeof part, 1, stream) == 1);
    CHECK(fclose(stream) == 0 && length == parts * sizeof part && is_all(text, length, 'm') && text[length] == 0);
    free(text);
}

/* Many digits take a buffer that printf allocates; so does a long text. */
void op_print(struct worker *worker)
{
    char *text = NULL;
    int width = (int)(1000 + below(worker, 2 * MIB));
    CHECK(asprintf(&text, "%*d", width, 7) == width && text[width - 1] == '7' && is_all(text, (size_t)width - 1, ' '));
    free(text);
    width = (int)(MIB + below(worker, MIB / 4));
    CHECK(snprintf(NULL, 0, "%.*d", width, 5) == width);
}

void op_flush(struct worker *worker)
{
    (void)worker;
    CHECK(fflush(NULL) == 0);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* glibc sorts in a buffer that it allocates. */
void op_sort(struct worker *worker)
{
    size_t count = below(worker, 4) ? 2 + below(worker, 4 * KIB) : 16 * KIB + below(worker, 144 * KIB);
    uint64_t *numbers = malloc(count * sizeof *numbers), sum = 0;
    CHECK(numbers != NULL);
    for (size_t i = 0; i < count; i++)
        sum += numbers[i] = next(worker);
    qsort(numbers, count, sizeof *numbers, by_number);
    for (size_t i = 0; i < count; sum -= numbers[i++])
        CHECK(i == 0 || numbers[i - 1] <= numbers[i]);
    CHECK(sum == 0);
    free(numbers);
}

/* A stream that writes from a block of ours. */
void op_buffer(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker)) % (4 * MIB) + 4096;
    char *buffer = malloc(bytes);
    FILE *stream = fopen("/dev/null", "w");
    CHECK(buffer != NULL && stream != NULL && setvbuf(stream, buffer, _IOFBF, bytes) == 0);
    for (size_t i = 0; i < 2 * bytes / 1000; i++)
        CHECK(fprintf(stream, "%0999d\n", (int)i) == 1000);
    CHECK(fclose(stream) == 0);
    free(buffer);
}

void op_paths(struct worker *worker)
{
    (void)worker;
    char *folder = getcwd(NULL, 0), *path = realpath("/proc/self/../self", NULL);
    CHECK(folder != NULL && path != NULL && strncmp(path, "/proc/", 6) == 0);
    free(folder);
    free(path);
    struct dirent **entries;
    int count = scandir("/proc/self/fd", &entries, NULL, alphasort);
    CHECK(count > 2);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* The environment is every thread's: only where there is one. */
void op_environment(struct worker *worker)
{
    size_t length = 1000 + below(worker, 2 * MIB);
    char *text = malloc(length + 1);
    CHECK(text != NULL);
    memset(text, 'e', length);
    text[length] = 0;
    CHECK(setenv("TORTURE", text, 1) == 0);
    free(text);
    const char *found = getenv("TORTURE");
    CHECK(found != NULL && strlen(found) == length && is_all(found, length, 'e'));
    CHECK(unsetenv("TORTURE") == 0 && getenv("TORTURE") == NULL);
}
