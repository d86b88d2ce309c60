// The interface of passes. A pass transforms a graph into an equivalent one. Each pass is one class
// in one file, one row of passes.def, one section of docs/passes-*.md and one golden test.
//
// Every pass guarantees the following, and tests/passes/pass_property_test.cc checks it on random
// graphs:
//   - outputs keep their names and types, and their values up to fp32 rounding; the rounding that
//     an annotation stands for counts as part of the value (quantise/simulate.h);
//   - the returned Changed is truthful, and a second run changes nothing;
//   - nodes keep their names; a node that replaces several carries their names joined by '+'.
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

// Whether a pass has changed the graph.
enum class Changed : bool { kNo = false, kYes = true };

// The record of one run of one pass.
struct PassRun {
  std::string pass;
  Changed changed = Changed::kNo;
  bool skipped = false;  // requested by PassContext::skip or max_steps
  int nodes_before = 0;
  int nodes_after = 0;
  double milliseconds = 0;
};

// The settings of a run of several passes, and its log.
struct PassContext {
  std::vector<std::string> skip;  // passes not to run, by name
  int max_steps = -1;             // number of passes to run, to bisect a fault; -1: no limit
  bool verify = true;  // verify the graph before the first pass and after each pass that changed it
  // The most elements that fold-constants makes of a node. A Cast may have more, as long as the
  // bytes of all constants of the graph and of its result stay within `max_constant_bytes`.
  int64_t max_folded_elements = int64_t{1} << 22;
  int64_t max_constant_bytes = int64_t{1} << 30;
  // Called after each pass that ran; `step` counts passes from 0. See DumpStepsTo in pipeline.h.
  std::function<Status(int step, const PassRun& run, const Graph& graph)> on_step;

  std::vector<PassRun> log;  // one entry per pass, in order; filled by RunPasses
};

// A transformation of graphs. Passes have no state; all settings are in PassContext.
class Pass {
 public:
  virtual ~Pass() = default;
  // Transforms the graph. Errors: something in the user's graph that the pass cannot accept, with
  // the node as location. A pattern that does not match is not an error; it stays unchanged.
  virtual StatusOr<Changed> Run(Graph& graph, PassContext& context) const = 0;
};

// A row of passes.def.
struct PassInfo {
  std::string_view name;     // "fold-batch-norm": the CLI name, and the anchor in docs/passes-*.md
  std::string_view summary;  // one line
  std::unique_ptr<Pass> (*create)();
};

// Returns all rows of passes.def, in order.
std::span<const PassInfo> AllPasses();
// Returns the pass with this name, or null.
const PassInfo* FindPass(std::string_view name);

}  // namespace kiln

#endif  // KILN_PASSES_PASS_H_
