// What the tests of the conformance suite begin with: a design point that has been read, and a
// graph that has been through the passes, calibrated and quantised.
#ifndef KILN_TESTS_TARGETS_CONFORMANCE_PREPARE_H_
#define KILN_TESTS_TARGETS_CONFORMANCE_PREPARE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"
#include "tests/targets/conformance/conformance.h"

namespace kiln::conformance {

inline constexpr int64_t kImages = 4;

struct Prepared {
  Graph quantised;
  Batch batch;                    // kImages random images
  std::vector<Tensor> reference;  // fp32; empty where the graph has no batch axis
};

// Runs the passes, calibrates on the very images that will be run, and quantises to the design
// point's types. A random graph may fold its batch axis away: then there is no joined reference,
// and ranges are assumed.
Prepared Prepare(Graph graph, uint64_t seed, const Family& family, const DesignPoint& point);

// Runs a batch at a level with so many threads.
StatusOr<RunResult> RunAt(const Accelerator& accelerator, const Program& program,
                          const Batch& batch, Level level, int threads);

// Reads a design point; null, with a failure of the test, where it cannot be read.
std::unique_ptr<Accelerator> Load(const std::string& design_point);

}  // namespace kiln::conformance

#endif  // KILN_TESTS_TARGETS_CONFORMANCE_PREPARE_H_
