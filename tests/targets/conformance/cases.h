// The cases of the conformance suite: small networks of one operator, or of a few that a family may
// fuse.
#ifndef KILN_TESTS_TARGETS_CONFORMANCE_CASES_H_
#define KILN_TESTS_TARGETS_CONFORMANCE_CASES_H_

#include <functional>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln::conformance {

struct Case {
  std::string name;              // "conv.3x3_stride_2"
  std::function<Graph()> build;  // fp32, ONNX layouts, batch 1, all shapes known
  // Root mean square error over root mean square of the reference that int8 may cost: 0.05 where
  // inputs and results are rounded to 8 bits once, more where errors add up.
  double tolerance = 0.05;
};

const std::vector<Case>& AllCases();

}  // namespace kiln::conformance

#endif  // KILN_TESTS_TARGETS_CONFORMANCE_CASES_H_
