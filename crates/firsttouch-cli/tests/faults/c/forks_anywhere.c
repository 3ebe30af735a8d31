// Forks where glibc allows them (tst-mallocfork, tst-mallocfork2, tst-malloc-fork-deadlock): in the handler of a signal that
// interrupts fork, malloc or free; while other threads hold stdio's locks and allocate; by several threads at once. And blocks in handlers
// of fork that were registered before ours, and in children that only clone(2) or `_Fork` knows of. Arguments: where, and how often, if not
// some hundred times.
//# once: forks
//# expect: stdout=forked
//# bare: fork
//# emulated: fork 12
//# bare: blocks
//# emulated: blocks 12
//# bare: stdio
//# emulated: stdio 12
//# bare: many
//# emulated: many 12
//# bare: copies
//# emulated: copies 12
//# bare: handlers
//# emulated: handlers 4
//# exec: --pages thp -- fork
//# emulated: fork 12
//# exec: --pages thp -- blocks
//# emulated: blocks 12
//# exec: --pages thp -- stdio
//# emulated: stdio 12
//# exec: --pages thp -- many
//# emulated: many 12
//# run: --pages thp -- copies
//# emulated: copies 12
//# exec: --pages 2m -- copies
//# emulated: copies 12
//# run: --pages thp --prefault=background -- handlers
//# emulated: handlers 4
//# run: --pages 2m -- handlers
//# emulated: handlers 4
//# run: --pages thp --min-size 64K -- blocks
//# emulated: blocks 12
//# run: --pages thp --prefault -- blocks
//# emulated: blocks 12
//# run: --pages 64k -- stdio
//# emulated: stdio 12
//# run: --pages 2m -- stdio
//# emulated: stdio 12
//# run: --pages 2m -- many
//# emulated: many 12
//# run: --pages auto -- blocks
//# emulated: blocks 12
#include "copy.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static int most_handled = 200, most_forks = 60;
static volatile sig_atomic_t handled, stop;
static long microseconds;

/* The next signal. One by one: where a fork takes longer than is between them, the program would never come to run. */
static void arm(void)
{
    struct itimerval once = {{0, 0}, {0, microseconds}};
    CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void child_of_handler(int signal)
{
    (void)signal;
    int before = errno;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
    handled++;
    arm();
    errno = before;
}

static void signals(long after)
{
    struct sigaction action = {.sa_handler = child_of_handler, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    microseconds = after;
    arm();
}

static void wait_for(pid_t child)
{
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    CHECK(ended == child && status == 0);
}

static void within_fork(void)
{
    signals(4700);
    while (handled < most_handled) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(0);
        wait_for(child);
    }
}

static void within_blocks(void)
{
    signals(3000);
    char *kept = filled_block(3 * MIB, 7);
    while (handled < most_handled) {
        char *block = MADE(malloc(2 * MIB));
        block[MIB] = 1;
        block = realloc(block, 5 * MIB);
        CHECK(block != NULL && block[MIB] == 1);
        free(block);
    }
    CHECK(holds(kept, 3 * MIB, 7));
}

static char path[] = "/tmp/firsttouch-linesXXXXXX";

static void *read_lines(void *unused)
{
    while (!stop) {
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        char *line = NULL;
        size_t room = 0;
        CHECK(getline(&line, &room, file) == 3 << 20);
        CHECK(line[0] == 'x' && line[(3 << 20) - 1] == 'x');
        free(line);
        fclose(file);
    }
    return unused;
}

static void *flush(void *unused)
{
    while (!stop)
        fflush(NULL);
    return unused;
}

static void *fork_often(void *block)
{
    for (int i = 0; i < most_forks; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (block != NULL) {
                CHECK(holds(block, 3 * MIB, 5));
                char *own = filled_block(2 * MIB, i);
                CHECK(holds(own, 2 * MIB, i));
                free(own);
                fill(block, 3 * MIB, 6);
            }
            _exit(0);
        }
        wait_for(child);
    }
    return NULL;
}

static void with_stdio(void)
{
    int file = mkstemp(path);
    CHECK(file >= 0);
    char *text = malloc(3 << 20);
    memset(text, 'x', 3 << 20);
    CHECK(write(file, text, 3 << 20) == 3 << 20);
    close(file);
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        CHECK(pthread_create(threads + i, NULL, i < 2 ? fork_often : i < 5 ? read_lines : flush, NULL) == 0);
    for (int i = 0; i < 6; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        stop = i >= 1;
    }
    unlink(path);
}

static void *churn(void *unused)
{
    unsigned seed = 1;
    char *kept[4] = {0};
    while (!stop) {
        unsigned i = seed++ % 4;
        free(kept[i]);
        kept[i] = MADE(malloc(MIB + seed % 7 * 400000));
        fill(kept[i], MIB, seed);
        kept[i] = realloc(kept[i], 3 * MIB);
        CHECK(kept[i] != NULL && holds(kept[i], MIB, seed));
    }
    for (int i = 0; i < 4; i++)
        free(kept[i]);
    return unused;
}

static void by_many(void)
{
    char *block = filled_block(3 * MIB, 5);
    pthread_t threads[5];
    for (int i = 0; i < 5; i++)
        CHECK(pthread_create(threads + i, NULL, i < 3 ? fork_often : churn, i < 3 ? block : NULL) == 0);
    for (int i = 0; i < 5; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        stop = i >= 2;
    }
    CHECK(holds(block, 3 * MIB, 5));
    free(block);
}

/* The other thread changes the heap while the copy is made. */
static void by_copies(void)
{
    char *block = filled_block(3 * MIB, 5);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
    for (int i = 0; i < most_handled; i++) {
        pid_t child = copy(i % 2);
        if (child == 0) {
            CHECK(holds(block, 3 * MIB, 5));
            char *own = filled_block(2 * MIB, i);
            own = realloc(own, 5 * MIB);
            block = realloc(block, 4 * MIB);
            CHECK(own != NULL && block != NULL && holds(own, 2 * MIB, i) && holds(block, 3 * MIB, 5));
            free(own);
            free(block);
            _exit(0);
        }
        wait_for(child);
    }
    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(holds(block, 3 * MIB, 5));
    free(block);
}

/* A block that is aligned to huge pages, and one whose pages may be created at this moment. */
static char *aligned, *fresh;

static void grow_aligned(void)
{
    if (aligned == NULL)
        return;
    size_t usable = malloc_usable_size(aligned);
    CHECK(usable >= 4 * MIB && holds(aligned, 4 * MIB, 8));
    aligned = realloc(aligned, usable + MIB);
    CHECK(aligned != NULL && holds(aligned, 4 * MIB, 8));
}

static void grow_and_free(void)
{
    if (fresh != NULL)
        alarm(LIMIT_S);
    grow_aligned();
    free(fresh);
}

/* Before the constructors of all libraries, and so before the agent. */
static void register_handlers(void)
{
    if (pthread_atfork(grow_aligned, grow_aligned, grow_and_free) != 0)
        abort();
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = register_handlers;

static void in_handlers(void)
{
    for (int i = 0; i < most_forks / 4; i++) {
        aligned = aligned_alloc(HUGE_PAGE, 4 * MIB);
        fresh = malloc(200 * MIB);
        CHECK(aligned != NULL && fresh != NULL);
        fill(aligned, 4 * MIB, 8);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(0);
        wait_for(child);
        free(aligned);
        free(fresh);
        aligned = fresh = NULL;
    }
}

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    void (*act)(void) = strcmp(word, "fork") == 0       ? within_fork
                        : strcmp(word, "blocks") == 0   ? within_blocks
                        : strcmp(word, "stdio") == 0    ? with_stdio
                        : strcmp(word, "copies") == 0   ? by_copies
                        : strcmp(word, "handlers") == 0 ? in_handlers
                                                        : by_many;
    if (count > 2)
        most_handled = most_forks = atoi(words[2]);
    act();
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    puts("forked");
    return 0;
}

