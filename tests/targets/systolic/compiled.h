// From a float graph to a compiled program, for tests: passes, calibration on given inputs,
// quantisation, compilation.
#ifndef KILN_TESTS_TARGETS_SYSTOLIC_COMPILED_H_
#define KILN_TESTS_TARGETS_SYSTOLIC_COMPILED_H_

#include <memory>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/quantise/recipe.h"
#include "kiln/targets/systolic/isa/program.h"

namespace kiln::systolic {

// The graph after the standard and layout passes, annotated from what its values are on `images`
// (each one tensor an input).
StatusOr<Graph> Prepare(Graph graph, const std::vector<std::vector<Tensor>>& images,
                        const Recipe& recipe = Int8Recipe());

StatusOr<std::unique_ptr<SystolicProgram>> CompileFor(const Graph& prepared, const Config& config,
                                                      bool host_fallback = true);

// Returns a design point with an array of `size` rows and columns and ports that fit it, otherwise
// like `config`.
Config SquareConfig(int size, Config config = {});

// One line a kernel: "matrix conv 3x3 16->16 /1 @32x32 + bias + relu"; host kernels with their
// reason.
std::string KernelList(const Program& program);

// The folder of trained models and data, or empty where there is none.
std::string SharedFolder();

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_COMPILED_H_
