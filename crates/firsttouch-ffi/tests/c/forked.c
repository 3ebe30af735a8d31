/* The session is begun by one thread while another forks (forker.h). */
#include "../../../firsttouch-cli/tests/faults/c/forker.h"
#include <firsttouch.h>

static void use(void)
{
    CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    char *block = calloc(3, MIB);
    CHECK(block != NULL && is_zero(block, 3 * MIB));
    free(block);
}

int main(void)
{
    use_while_forking();
    puts("done");
    return 0;
}
