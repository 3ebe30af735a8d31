// Boost's shortest paths: compressed rows, no colours, its heap of four children.
#include "sssp_gr.h"
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>
#include <numeric>

struct Weight {
    uint32_t weight;
};

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: %s GRAPH.gr SOURCE...\n", argv[0]), 2;
    ArcList list = read_gr(argv[1]);
    using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Weight>;
    std::vector<std::pair<uint32_t, uint32_t>> ends;
    std::vector<Weight> weights;
    for (auto &arc : list.arcs) {
        ends.emplace_back(arc.tail, arc.head);
        weights.push_back({arc.weight});
    }
    Graph graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), weights.begin(), list.nodes);
    std::vector<uint32_t> distances(list.nodes);
    return each_source(argc, argv, [&](uint32_t source) {
        auto index = get(boost::vertex_index, graph);
        dijkstra_shortest_paths_no_color_map(
            graph, source,
            boost::weight_map(get(&Weight::weight, graph))
                .distance_map(boost::make_iterator_property_map(distances.begin(), index))
                .distance_inf(UINT32_MAX));
        return [&] {
            return std::accumulate(distances.begin(), distances.end(), uint64_t(0),
                                   [](uint64_t sum, uint32_t d) { return d == UINT32_MAX ? sum : sum + d; });
        };
    });
}
