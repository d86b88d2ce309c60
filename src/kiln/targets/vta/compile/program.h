// A network compiled for one VTA design point: launches, the memory that they run in, and the
// host's share. Generate (codegen.h) makes it; network_run.h runs it.
#ifndef KILN_TARGETS_VTA_COMPILE_PROGRAM_H_
#define KILN_TARGETS_VTA_COMPILE_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/support/buffer.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/compile/run_plan.h"
#include "kiln/targets/vta/compile/schedule.h"
#include "kiln/targets/vta/config/config.h"
#include "kiln/targets/vta/isa/emitter.h"
#include "kiln/targets/vta/isa/program_vector.h"

namespace kiln::vta {

// The compiled form of one layer: a launch or work of the host.
struct Step {
  std::vector<Transfer> transfers;  // executed before the step
  std::optional<Launch> launch;
  std::vector<int> reads, writes;  // maps that the launch reads and writes
  std::optional<HostLayer> host;
  std::optional<MatrixTiling> tiling;  // matrix layers only
};

// The contents of a program.
struct ProgramParts {
  Config config;
  int images_at_once = 1;
  std::vector<FeatureMap> maps;
  std::vector<uint64_t> map_addresses;
  std::vector<Slot> slots;
  std::vector<Step> steps;  // kernel i is step i
  std::vector<KernelInfo> kernels;
  std::vector<Transfer> final_transfers;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  RunPlan plan;
  LargeBytes memory;  // from MemoryImage::kBase on, before inputs are written
  int64_t constant_bytes = 0;
};

// A program of the VTA family.
class VtaProgram final : public Program {
 public:
  explicit VtaProgram(ProgramParts parts) : parts_(std::move(parts)) {
    kernels_ = parts_.kernels;
    images_at_once_ = parts_.images_at_once;
    constant_bytes_ = parts_.constant_bytes;
    activation_bytes_ = std::ssize(parts_.memory) - constant_bytes_;
  }
  const ProgramParts& parts() const { return parts_; }
  const Config& config() const { return parts_.config; }
  std::string Print() const override;

 private:
  ProgramParts parts_;
};

// Returns the program's launches with its initial memory, before inputs are written and without the
// host's share. The result can be inspected, linted, or run on hardware.
ProgramVector LaunchesOf(const VtaProgram& program);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_PROGRAM_H_
