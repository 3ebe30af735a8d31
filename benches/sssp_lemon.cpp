// LEMON's shortest paths: its static graph and its binary heap.
#include "sssp_gr.h"
#include <algorithm>
#include <lemon/bin_heap.h>
#include <lemon/dijkstra.h>
#include <lemon/static_graph.h>

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: %s GRAPH.gr SOURCE...\n", argv[0]), 2;
    ArcList list = read_gr(argv[1]);
    std::stable_sort(list.arcs.begin(), list.arcs.end(), [](auto &a, auto &b) { return a.tail < b.tail; });
    std::vector<std::pair<int, int>> ends;
    for (auto &arc : list.arcs) ends.emplace_back(arc.tail, arc.head);
    lemon::StaticDigraph graph;
    graph.build(list.nodes, ends.begin(), ends.end());
    lemon::StaticDigraph::ArcMap<unsigned> weights(graph);
    for (size_t at = 0; at < list.arcs.size(); at++) weights[graph.arc(at)] = list.arcs[at].weight;
    lemon::StaticDigraph::NodeMap<unsigned> distances(graph);
    lemon::Dijkstra<lemon::StaticDigraph, lemon::StaticDigraph::ArcMap<unsigned>> dijkstra(graph, weights);
    dijkstra.distMap(distances);
    return each_source(argc, argv, [&](uint32_t source) {
        dijkstra.run(graph.node(source));
        return [&] {
            uint64_t sum = 0;
            for (uint32_t node = 0; node < list.nodes; node++)
                if (dijkstra.reached(graph.node(node))) sum += distances[graph.node(node)];
            return sum;
        };
    });
}
