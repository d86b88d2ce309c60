// Emits a compiled network with its README and a sample: what the host writes to the machine and
// reads from it in a run at the functional level.
#ifndef KILN_TARGETS_VTA_RUN_EMIT_NETWORK_H_
#define KILN_TARGETS_VTA_RUN_EMIT_NETWORK_H_

#include <filesystem>

#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/vta/compile/program.h"

namespace kiln::vta {

// Implements Accelerator::EmitRtl. A run of the sample has two words: the address of the launch's
// first instruction and the number of instructions.
Status EmitNetwork(const VtaProgram& program, const FolderContent& content,
                   const std::filesystem::path& folder);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUN_EMIT_NETWORK_H_
