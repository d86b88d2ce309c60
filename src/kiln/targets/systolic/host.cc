#include "kiln/targets/systolic/host.h"

#include <vector>

#include "kiln/targets/interface/host_graph.h"
#include "kiln/targets/systolic/binding.h"

namespace kiln::systolic {

Status RunHostStep(const HostStep& step, std::span<uint8_t> memory) {
  std::vector<Tensor> inputs;
  for (const Binding& binding : step.inputs) inputs.push_back(Load(binding, memory));
  KILN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, RunHostGraph(*step.graph, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    KILN_RETURN_IF_ERROR(Store(outputs[i], step.outputs[i], memory));
  }
  return OkStatus();
}

}  // namespace kiln::systolic
