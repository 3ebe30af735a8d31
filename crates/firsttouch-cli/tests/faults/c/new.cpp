// new and delete of C++, plain, in arrays, aligned, sized and impossible.
//# bare:
//# run: --pages thp
//# expect: pages=2m>=80% where thp
//# run: --pages thp --min-size 4K --prefault
#include "check.h"
#include <cstdint>
#include <map>
#include <new>
#include <string>
#include <vector>

struct alignas(2097152) Aligned {
    char bytes[3 * 2097152];
};

int main()
{
    for (std::size_t bytes = 1; bytes < 64 * MIB; bytes = bytes * 3 + 1) {
        char *block = new char[bytes];
        fill(block, bytes, 1);
        CHECK(holds(block, bytes, 1));
        delete[] block;
        void *plain = ::operator new(bytes);
        ::operator delete(plain, bytes);
        void *aligned = ::operator new(bytes, std::align_val_t(4096));
        CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
        ::operator delete(aligned, bytes, std::align_val_t(4096));
    }
    Aligned *aligned = new Aligned;
    CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 2097152 == 0);
    delete aligned;
    // Kept, or the compiler leaves out the pair of new and delete.
    char *volatile kept = nullptr;
    bool refused = false;
    try {
        kept = new char[unknown(PTRDIFF_MAX - 64)];
    } catch (const std::bad_alloc &) {
        refused = true;
    }
    CHECK(refused && kept == nullptr);
    kept = new (std::nothrow) char[unknown(PTRDIFF_MAX - 64)];
    CHECK(kept == nullptr);
    std::vector<std::uint64_t> grown;
    for (std::uint64_t i = 0; i < 4000000; i++)
        grown.push_back(i * i);
    for (std::uint64_t i = 0; i < 4000000; i += 997)
        CHECK(grown[i] == i * i);
    std::map<int, std::string> words;
    for (int i = 0; i < 50000; i++)
        words[i] = std::to_string(i);
    CHECK(words[49999] == "49999");
    return 0;
}
