// How the cycle level models the memory behind a design point.
#ifndef KILN_TARGETS_VTA_SIMULATE_CYCLE_MEMORY_MODEL_H_
#define KILN_TARGETS_VTA_SIMULATE_CYCLE_MEMORY_MODEL_H_

#include <optional>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// If every request has the same latency and the ports never wait for it, it is the latency of
// `config`. Otherwise `config` is the design point, and `simulated` the memory (cycle.h).
struct MemoryModel {
  Config config;
  std::optional<hardware::AxiTiming> simulated;
};
MemoryModel Behind(const RtlOptions& memory, const Config& design);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_SIMULATE_CYCLE_MEMORY_MODEL_H_
