// The pass eliminate-dead-code, the first and last of every clean-up (CleanUpPipeline).
#ifndef KILN_PASSES_ELIMINATE_DEAD_CODE_H_
#define KILN_PASSES_ELIMINATE_DEAD_CODE_H_

#include "kiln/passes/pass.h"

namespace kiln {

// Erases nodes that no graph output depends on, and constants without users. Graph inputs stay:
// they are the network's interface.
//   %1 = relu %x     %2 = exp %x     output %1      =>      %1 = relu %x     output %1
class EliminateDeadCode final : public Pass {
 public:
  static constexpr std::string_view kName = "eliminate-dead-code";
  StatusOr<Changed> Run(Graph& graph, PassContext& context) const override;
};

}  // namespace kiln

#endif  // KILN_PASSES_ELIMINATE_DEAD_CODE_H_
