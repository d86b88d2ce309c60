// Passes: each turns a graph into an equal one. A pass is one class in one file, one row of passes.def, one section of
// docs/passes.md and one test.
//
// What every pass promises (and tests/passes/pass_property_test.cc checks on random graphs):
//   - outputs keep their names, types and, up to fp32 rounding, their values; what an annotation rounds counts as part
//     of the value (quantise/simulate.h);
//   - the returned Changed is the truth, and a second run changes nothing;
//   - nodes keep their names; a node that stands for several carries their names joined by '+'.
#ifndef KILN_PASSES_PASS_H_
#define KILN_PASSES_PASS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

enum class Changed : bool { kNo = false, kYes = true };

// What one run of one pass did.
struct PassRun {
  std::string pass;
  Changed changed = Changed::kNo;
  bool skipped = false;  // asked for by PassContext::skip or max_steps
  int nodes_before = 0;
  int nodes_after = 0;
  double milliseconds = 0;
};

// Settings of a run of passes, and its log.
struct PassContext {
  std::vector<std::string> skip;  // passes not to run, by name
  int max_steps = -1;  // stop transforming after so many passes, to bisect a fault; -1: no limit
  bool verify = true;  // verify the graph before the first pass and after each that changed it
  int64_t max_folded_elements =
      int64_t{1} << 22;  // fold-constants makes no constant larger than this, in elements
  // Called after each pass that ran; `step` counts from 0. See DumpStepsTo in pipeline.h.
  std::function<Status(int step, const PassRun& run, const Graph& graph)> on_step;

  std::vector<PassRun> log;  // one entry a step, in order; filled by RunPasses
};

class Pass {
 public:
  virtual ~Pass() = default;
  // Errors: what the user's graph has that the pass cannot accept (place: the node). A pattern that does not fit is no
  // error: it stays as it is.
  virtual StatusOr<Changed> Run(Graph& graph, PassContext& context) const = 0;
};

// A row of passes.def.
struct PassInfo {
  std::string_view name;     // "fold-batch-norm": the CLI name, and the anchor in docs/passes.md
  std::string_view summary;  // one line
  std::unique_ptr<Pass> (*create)();
};

std::span<const PassInfo> AllPasses();
const PassInfo* FindPass(std::string_view name);  // null when there is none

}  // namespace kiln

#endif  // KILN_PASSES_PASS_H_
