// Another preload library behind ours that brings an allocator: see `cases.rs`.
#include "check.h"
#include <string>
#include <vector>

int main()
{
    std::vector<std::string> lines;
    for (int i = 0; i < 2000; i++)
        lines.push_back(std::string(1000 + i, 'x'));
    std::string *large = new std::string(8 * MIB, 'y');
    char *copied = strdup(large->c_str());
    CHECK(copied != nullptr && strlen(copied) == 8 * MIB);
    free(copied);
    delete large;
    char *block = static_cast<char *>(realloc(malloc(2 * MIB), 8 * MIB));
    CHECK(block != nullptr && malloc_usable_size(block) >= 8 * MIB);
    fill(block, 8 * MIB, 1);
    CHECK(holds(block, 8 * MIB, 1));
    free(block);
    void *aligned = nullptr;
    CHECK(posix_memalign(&aligned, 4096, 2 * MIB) == 0);
    free(aligned);
    return lines.size() == 2000 ? 0 : 1;
}
