// What standing in front of malloc and free costs, and nothing else: the same map of strings, by turns with malloc (which
// an agent may have taken) and with __libc_malloc (which it has not), a thousandfold within one process, so that neither
// the machine's drift nor the layout of a process matters.
//
//   hop [KEYS [PAIRS]]      default 5,000 keys, which a second-level cache holds; 4,000 pairs of turns
//
// Run it bare first: the compiler lays out the two ways differently, and that difference is to be subtracted.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

extern "C" void *__libc_malloc(std::size_t bytes);
extern "C" void __libc_free(void *address);

template <class T, bool direct> struct Allocator {
    using value_type = T;
    template <class U> struct rebind {
        using other = Allocator<U, direct>;
    };
    Allocator() = default;
    template <class U> Allocator(const Allocator<U, direct> &) {}
    T *allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        return static_cast<T *>(direct ? __libc_malloc(bytes) : std::malloc(bytes));
    }
    void deallocate(T *address, std::size_t) { direct ? __libc_free(address) : std::free(address); }
    bool operator==(const Allocator &) const { return true; }
    bool operator!=(const Allocator &) const { return false; }
};

template <bool direct> double seconds(std::uint64_t keys, std::uint64_t &sum) {
    using Text = std::basic_string<char, std::char_traits<char>, Allocator<char, direct>>;
    using Pair = std::pair<const std::uint64_t, Text>;
    const auto begun = std::chrono::steady_clock::now();
    std::map<std::uint64_t, Text, std::less<>, Allocator<Pair, direct>> map;
    std::uint64_t state = 123;
    const auto next = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    };
    for (std::uint64_t i = 0; i < keys; i++) map[next() % (2 * keys)] = Text(17 + next() % 48, 'x');
    for (std::uint64_t i = 0; i < keys; i++) map.erase(next() % (2 * keys));
    sum += map.size();
    map.clear();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

int main(int count, char **words) {
    const std::uint64_t keys = count > 1 ? std::strtoull(words[1], nullptr, 10) : 5'000;
    const std::size_t pairs = count > 2 ? std::strtoull(words[2], nullptr, 10) : 4'000;
    std::uint64_t sum = 0;
    std::vector<double> ratios, taken, direct;
    seconds<false>(keys, sum);
    seconds<true>(keys, sum);
    for (std::size_t i = 0; i < pairs; i++) {
        const bool first = i % 4 == 0 || i % 4 == 3;
        double through = first ? seconds<false>(keys, sum) : 0;
        const double straight = seconds<true>(keys, sum);
        if (!first) through = seconds<false>(keys, sum);
        taken.push_back(through);
        direct.push_back(straight);
        ratios.push_back(through / straight);
    }
    const auto quantile = [](std::vector<double> values, double part) {
        std::sort(values.begin(), values.end());
        return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
    };
    std::printf("malloc against __libc_malloc: %+.2f %% (median of %zu pairs), %+.2f %% (fastest tenths)\n",
                100 * (quantile(ratios, 0.5) - 1), pairs, 100 * (quantile(taken, 0.1) / quantile(direct, 0.1) - 1));
    return sum == 0;
}
