// Seeds of the fuzz targets of the cgra family.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "fuzz/seeds.h"
#include "kiln/support/random.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/graph/random_graph.h"
#include "kiln/targets/cgra/learn/weights.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// Writes random graphs in both forms, and mappings with pass-throughs that need not be legal.
void WriteGraphsAndMappings(const fs::path& folder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    cgra::RandomGraphOptions options;
    options.instructions = 1 + static_cast<int>(seed);
    options.variables = options.carried = static_cast<int>(seed % 3);
    options.memory = options.predicate = options.order = 0.2;
    const cgra::ComputationGraph graph = cgra::RandomGraph(options, seed);
    WriteSeed(folder / fmt::format("cgra_graph_fuzz/{}.json", seed), cgra::PrintGraphJson(graph));
    WriteSeed(folder / fmt::format("cgra_graph_fuzz/{}.dot", seed), cgra::PrintGraphDot(graph));
  }
  WriteSeed(folder / "cgra_graph_fuzz/forms.dot",
            "strict digraph \"f\" { // a comment\n node [shape=circle] edge [color=red]\n"
            " Node0phi[label=\"x\\\"\" + \"y\"]; \"2\" [type=const,int=2] /* more */\n"
            " subgraph a { Node1add:n -> Node0phi [operand=1, dist=0]; \"2\" -> Node1add } # end\n"
            " b [op=\"output\", label=<<b>o</b>>] Node0phi -> Node1add -> b\n}\n");
  Random random(1);
  for (const char* name : {"distance", "fir-4", "fft"}) {
    const cgra::ComputationGraph graph = *cgra::MakeNamedGraph(name);
    cgra::Mapping mapping;
    mapping.initiation_interval = 4;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const bool slot = graph.TakesSlot(static_cast<int>(n));
      mapping.places.push_back({slot ? static_cast<int>(random.Below(16)) : -1,
                                slot ? static_cast<int>(random.Below(20)) : 0});
      mapping.fused_into.push_back(-1);
    }
    mapping.provider.assign(graph.edges.size(), -1);
    const int source = graph.edges.back().source;
    mapping.fused_into[static_cast<size_t>(graph.edges.back().source)] = graph.edges.back().target;
    mapping.passes = {{source, -1, {3, 7}}, {source, 0, {5, 12}}};
    mapping.provider.back() = 1;
    WriteSeed(folder / fmt::format("cgra_mapping_fuzz/{}.json", name),
              cgra::PrintMapping(mapping, graph));
  }
}

// Writes the smallest policy with and without moments, each without its digest, and the beginnings
// of both.
void WritePolicies(const fs::path& folder) {
  cgra::TrainingState state;
  state.weights = cgra::InitialWeights({.graph = false, .attention = false}, 1);
  state.numbers = {{"iteration", 3}, {"seed", 1}};
  const auto write = [&](std::string_view name) {
    std::string bytes = cgra::SerializeTraining(state);
    bytes.resize(bytes.size() - kSha256Bytes);
    WriteSeed(folder / fmt::format("cgra_policy_fuzz/{}.bin", name), bytes);
    WriteSeed(folder / fmt::format("cgra_policy_fuzz/{}_begin.bin", name), bytes.substr(0, 300));
  };
  write("weights");
  state.first = state.second = state.weights.matrices;
  write("moments");
}

const SeedWriter kCgra(&WriteGraphsAndMappings);
const SeedWriter kCgraPolicies(&WritePolicies);

}  // namespace
}  // namespace kiln
