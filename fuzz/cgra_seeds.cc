// Seeds of the fuzz targets of the cgra family.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "fuzz/cgra_machine.h"
#include "fuzz/seeds.h"
#include "kiln/support/random.h"
#include "kiln/support/sha256.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "kiln/targets/cgra/graph/random_graph.h"
#include "kiln/targets/cgra/isa/configure.h"
#include "kiln/targets/cgra/learn/protocol.h"
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

// Writes values of the inputs x and y.
void WriteInputs(const fs::path& folder) {
  WriteSeed(folder / "cgra_inputs_fuzz/numbers.json", R"({"x": [1, -2], "y": [4294967295, 7]})");
  WriteSeed(folder / "cgra_inputs_fuzz/lanes.json", R"({"x": [[1.5, -0], 2e9], "y": [[1, 2], 0]})");
}

// Writes a sum of two inputs for the machine of cgra_stream_fuzz.cc: beats that load it and run a
// few threads.
void WriteStreams(const fs::path& folder) {
  const cgra::Config config = cgra::SmallMachine();
  const cgra::ComputationGraph graph = *cgra::MakeNamedGraph("vector-add");
  cgra::Mapping mapping;
  mapping.initiation_interval = 1;
  mapping.places.assign(graph.nodes.size(), {});
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.TakesSlot(static_cast<int>(n))) mapping.places[n] = {1, 0};
  }
  mapping.fused_into.assign(graph.nodes.size(), -1);
  mapping.provider.assign(graph.edges.size(), -1);
  const auto program = cgra::BuildConfiguration(graph, mapping, config);
  if (!program.ok()) return;
  std::vector<uint8_t> stream;
  cgra::AppendLoad(*program, &stream);
  for (const int threads : {1, 3}) {
    const std::vector<int32_t> data(static_cast<size_t>(threads) * program->inputs.size() * 2, 5);
    cgra::AppendRun(*program, threads, threads / 2, data, &stream);
    WriteSeed(folder / fmt::format("cgra_stream_fuzz/{}.bin", threads),
              std::string(stream.begin(), stream.end()));
  }
}

// Writes requests with and without graphs, and a point of a curve.
void WriteTrainings(const fs::path& folder) {
  cgra::TrainOptions options;
  WriteSeed(folder / "cgra_training_fuzz/request.json", cgra::PrintTrainRequest(options, 3));
  options.graphs.push_back(*cgra::MakeNamedGraph("vector-add"));
  WriteSeed(folder / "cgra_training_fuzz/graphs.json", cgra::PrintTrainRequest(options, 0));
  WriteSeed(folder / "cgra_training_fuzz/point.json", cgra::PrintPoint({.iteration = 3}));
  WriteSeed(folder / "cgra_training_fuzz/header.bin", cgra::FrameHeader({'p', "12345"}));
}

const SeedWriter kCgra(&WriteGraphsAndMappings);
const SeedWriter kCgraPolicies(&WritePolicies);
const SeedWriter kCgraInputs(&WriteInputs);
const SeedWriter kCgraStreams(&WriteStreams);
const SeedWriter kCgraTrainings(&WriteTrainings);

}  // namespace
}  // namespace kiln
