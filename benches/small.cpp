// Small allocations and nothing else: a map of strings that grows, is searched, shrinks, and grows again.
//
//   small [KEYS [ROUNDS]]      default 200,000 keys, 4 rounds
//
// No allocation reaches the size from which memory is placed, so the time must be the same with and without.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

int main(int count, char **words) {
    const std::uint64_t keys = count > 1 ? std::strtoull(words[1], nullptr, 10) : 200'000;
    const int rounds = count > 2 ? std::atoi(words[2]) : 4;
    std::map<std::uint64_t, std::string> map;
    std::uint64_t state = 123, sum = 0;
    const auto next = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    };
    for (int round = 0; round < rounds; round++) {
        for (std::uint64_t i = 0; i < keys; i++) map[next() % (2 * keys)] = std::string(17 + next() % 48, 'x');
        for (std::uint64_t i = 0; i < keys; i++) {
            const auto found = map.find(next() % (2 * keys));
            if (found != map.end()) sum += found->second.size();
        }
        for (std::uint64_t i = 0; i < keys; i++) map.erase(next() % (2 * keys));
    }
    std::printf("%zu %llu\n", map.size(), static_cast<unsigned long long>(sum));
}
