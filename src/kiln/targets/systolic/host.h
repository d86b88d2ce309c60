// Host steps: what the accelerator cannot run, evaluated in fp32 on the host, on the machine's memory.
#ifndef KILN_TARGETS_SYSTOLIC_HOST_H_
#define KILN_TARGETS_SYSTOLIC_HOST_H_

#include <cstdint>
#include <span>

#include "kiln/support/status.h"
#include "kiln/targets/systolic/program.h"

namespace kiln::systolic {

// Runs one host step on `memory`, addresses [0, memory_top) of the machine.
Status RunHostStep(const HostStep& step, std::span<uint8_t> memory);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_HOST_H_
