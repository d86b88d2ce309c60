// Chooses between a fixed latency and a simulated memory.

#include "kiln/targets/vta/simulate/cycle/memory_model.h"

#include "kiln/hardware/axi_port.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/vta/config/derived.h"

namespace kiln::vta {

MemoryModel Behind(const RtlOptions& memory, const Config& design) {
  const auto own = static_cast<uint64_t>(AnswerCycles(design));
  MemoryModel model{design, std::nullopt};
  if (!memory.steady_memory() || memory.memory_latency > own) {
    model.simulated = MemoryTimingOf(memory, own);
  } else if (memory.memory_latency > 0) {
    model.config.memory_latency = static_cast<int>(memory.memory_latency) + kAxiPortLatency;
  }
  return model;
}

}  // namespace kiln::vta
