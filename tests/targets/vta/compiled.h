// From a float graph to a compiled program, for tests: passes, calibration on given inputs,
// quantisation, compilation.
#ifndef KILN_TESTS_TARGETS_VTA_COMPILED_H_
#define KILN_TESTS_TARGETS_VTA_COMPILED_H_

#include <memory>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/quantise/recipe.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/compile/program.h"

namespace kiln::vta {

// The graph after the standard and layout passes, annotated from what its values are on `images`.
Graph Prepare(Graph graph, const Batch& images, const Recipe& recipe);
// `images` random images for every input of the graph.
Batch RandomImages(const Graph& graph, int64_t images, uint64_t seed);
// With so many virtual threads (0: whichever is faster) and without a host.
std::unique_ptr<VtaProgram> CompileFor(const Graph& prepared, const Config& config,
                                       int threads = 0);
// The paper's design point.
Config PynqConfig();

// What the linter finds in the program's launches; empty: nothing.
std::string FindingsOf(const VtaProgram& program);

// Codes of output 0 at a level.
Tensor CodesOf(const VtaProgram& program, const Batch& images, Level level = Level::kFunctional);

}  // namespace kiln::vta

#endif  // KILN_TESTS_TARGETS_VTA_COMPILED_H_
