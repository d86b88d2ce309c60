// A network compiled for one VTA design point: launches, the memory they run in, and the host's share.
#ifndef KILN_TARGETS_VTA_PROGRAM_H_
#define KILN_TARGETS_VTA_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/interface/program.h"
#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/emitter.h"
#include "kiln/targets/vta/layers.h"
#include "kiln/targets/vta/program_vector.h"
#include "kiln/targets/vta/run_plan.h"
#include "kiln/targets/vta/schedule.h"

namespace kiln::vta {

// What one layer became: a launch, or host work.
struct Step {
  std::vector<Transfer> transfers;  // before it
  std::optional<Launch> launch;
  std::vector<int> reads, writes;  // maps, of the launch
  std::optional<HostLayer> host;
  std::optional<MatrixTiling> tiling;  // of a matrix layer
};

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
  std::vector<uint8_t> memory;  // from MemoryImage::kBase on, before an image comes
  int64_t constant_bytes = 0;
};

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

// The program's launches on its memory as it is before an image comes, without the host's share: to look at, to lint,
// to run on hardware.
ProgramVector LaunchesOf(const VtaProgram& program);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_PROGRAM_H_
