// Micro-kernels: what a GEMM or ALU instruction runs, recorded once, and where it stands in the micro-op buffer.
#ifndef KILN_TARGETS_VTA_KERNEL_H_
#define KILN_TARGETS_VTA_KERNEL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/isa.h"

namespace kiln::vta {

// A list of micro-ops in up to two loops, with all that its instruction says beside its place.
class Kernel {
 public:
  enum class Mode : uint32_t { kGemm = 0, kAlu = 1 };
  struct Push {  // the arguments of one micro-op
    Mode mode = Mode::kGemm;
    bool reset = false;
    Uop uop;
    uint32_t alu = 0;
    bool use_immediate = false;
    int32_t immediate = 0;
  };

  // Recording. Errors: a loop behind a micro-op, or a third one, or an end without a begin; an immediate
  // of more than 16 bits; a micro-op that differs from the ones before in more than its indices, or whose destination
  // is that of one of the two before it (the original's hardware would lose one of the writes).
  Status BeginLoop(uint32_t extent, uint32_t dst, uint32_t src, uint32_t weight);
  Status EndLoop();
  Status Add(const Push& push);
  // Error: a loop that has not ended.
  Status Close() const;

  const std::vector<Uop>& uops() const { return uops_; }
  Mode mode() const { return first_.mode; }
  // The instruction, with the micro-ops at `place` of the buffer. With one loop a GEMM's is the outer one, an ALU
  // instruction's the inner one.
  Instruction InstructionAt(uint32_t place) const;

 private:
  struct Loop {
    uint32_t extent = 1, dst = 0, src = 0, weight = 0;
  };

  std::vector<Loop> loops_;
  size_t open_ = 0;
  std::vector<Uop> uops_;
  Push first_;
};

// Which kernels stand in the micro-op buffer, and which micro-ops a launch has to bring along. Places go round the
// buffer, so that the kernel loaded longest ago goes first.
class KernelCache {
 public:
  explicit KernelCache(uint32_t uops) : capacity_(uops) {}

  struct Place {
    uint32_t first = 0;
    // Where in the launch's micro-ops it begins, if it has to be loaded.
    std::optional<uint32_t> load_from;
  };
  // Error: more micro-ops than the buffer holds.
  StatusOr<Place> Find(const Kernel* kernel);

  // The micro-ops of all loads of this launch, one behind the other: a kernel that was pushed out and is loaded again
  // stands there twice, so that no load that is already in the program changes its meaning.
  const std::vector<Uop>& launch_uops() const { return launch_uops_; }
  // Ends the launch: the buffer counts as empty, because another program may use it, and the next kernel is loaded to
  // place 0.
  void EndLaunch();

 private:
  struct Resident {
    const Kernel* kernel;
    uint32_t first, end;
  };
  const uint32_t capacity_;
  uint32_t end_ = 0;  // of the place given last
  std::vector<Resident> residents_;
  std::vector<Uop> launch_uops_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_KERNEL_H_
