// Helpers that the tests of passes share: building, running and comparing graphs.
#ifndef KILN_TESTS_PASSES_PASS_TESTING_H_
#define KILN_TESTS_PASSES_PASS_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/passes/pass.h"

namespace kiln {

// Returns the names of all passes, to instantiate tests with.
inline std::vector<std::string_view> PassNames() {
  std::vector<std::string_view> names;
  for (const PassInfo& pass : AllPasses()) names.push_back(pass.name);
  return names;
}

// Returns a text form of everything that a pass can change: names, types, attributes, regions and
// the bytes of constants.
std::string Describe(const Graph& graph);

// Runs the pass on the graph and checks the guarantees of pass.h (see pass_property_test.cc).
// Returns what the pass reported.
Changed CheckPass(Graph& graph, std::string_view pass, uint64_t seed);

// Runs both graphs on the same random inputs and compares the outputs: names, types, and values
// within 1e-4 of each output's largest magnitude. Annotated values are rounded
// (quantise/simulate.h).
void ExpectSameOutputs(const Graph& expected, const Graph& actual, uint64_t seed);

}  // namespace kiln

#endif  // KILN_TESTS_PASSES_PASS_TESTING_H_
