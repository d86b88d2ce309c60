// Shared by the tests of passes: build, run, compare.
#ifndef KILN_TESTS_PASSES_PASS_TESTING_H_
#define KILN_TESTS_PASSES_PASS_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/passes/pass.h"

namespace kiln {

// A text form of everything a pass can change: names, types, attributes, regions and the bytes of constants.
std::string Describe(const Graph& graph);

// Runs the pass on the graph and checks what pass.h promises: see pass_property_test.cc. Returns what the pass said.
Changed CheckPass(Graph& graph, std::string_view pass, uint64_t seed);

// Runs both graphs on the same random inputs and compares the outputs: names, types, and values within 1e-4 of each
// output's largest magnitude. Annotated values count as rounded (quantise/simulate.h).
void ExpectSameOutputs(const Graph& expected, const Graph& actual, uint64_t seed);

}  // namespace kiln

#endif  // KILN_TESTS_PASSES_PASS_TESTING_H_
