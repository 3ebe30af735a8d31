// What the programs that stand for other libraries share: the graph, and the loop over sources.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Arc {
    uint32_t tail, head, weight;
};

struct ArcList {
    uint32_t nodes = 0;
    std::vector<Arc> arcs;
};

// The arcs of a DIMACS file, with nodes counted from 0.
inline ArcList read_gr(const char *name) {
    ArcList list;
    FILE *file = fopen(name, "r");
    if (!file) {
        perror(name);
        exit(1);
    }
    char line[256];
    unsigned arcs;
    while (fgets(line, sizeof line, file)) {
        Arc arc;
        if (line[0] == 'p') {
            sscanf(line, "p sp %u %u", &list.nodes, &arcs);
            list.arcs.reserve(arcs);
        } else if (line[0] == 'a' && sscanf(line, "a %u %u %u", &arc.tail, &arc.head, &arc.weight) == 3) {
            list.arcs.push_back({arc.tail - 1, arc.head - 1, arc.weight});
        }
    }
    fclose(file);
    return list;
}

// For each source of the arguments a line: milliseconds, and the sum of all distances.
template <class Search>
int each_source(int argc, char **argv, Search search) {
    for (int at = 2; at < argc; at++) {
        uint32_t source = strtoul(argv[at], nullptr, 10) - 1;
        auto began = std::chrono::steady_clock::now();
        auto sum = search(source);
        std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
        printf("%.4f %llu\n", took.count(), (unsigned long long)sum());
    }
    return 0;
}
