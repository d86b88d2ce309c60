// Micro-op kernels of the runtime: the sequences of micro-ops that GEMM and ALU instructions run,
// recorded once, and the cache that tracks which of them the micro-op buffer holds.
#ifndef KILN_TARGETS_VTA_RUNTIME_KERNEL_H_
#define KILN_TARGETS_VTA_RUNTIME_KERNEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {

// Returns the error of a call that the runtime does not allow in its current state.
inline Status Misuse(const std::string& message) { return absl::FailedPreconditionError(message); }

// A list of micro-ops in up to two loops, with all fields of its instruction except the location of
// the micro-ops.
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

  // Record the kernel. Errors: a loop that begins after a micro-op, a third loop, or an end without
  // a begin; an immediate of more than 16 bits; a micro-op that differs from the previous ones in
  // more than its indices, or that has the destination of one of the two micro-ops before it (the
  // original's hardware would lose one of the writes).
  Status BeginLoop(uint32_t extent, uint32_t dst, uint32_t src, uint32_t weight);
  Status EndLoop();
  Status Add(const Push& push);
  // Ends the recording. Error: a loop that has not ended.
  Status Close() const;

  const std::vector<Uop>& uops() const { return uops_; }
  Mode mode() const { return first_.mode; }
  // Returns the instruction that runs the kernel with its micro-ops at index `place` of the buffer.
  // A single loop becomes the outer loop of a GEMM, or the inner loop of an ALU instruction.
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

// A cache of the kernels in the micro-op buffer, and the micro-ops that a launch must load. The
// buffer is a ring, so the kernel that was loaded longest ago is replaced first.
class KernelCache {
 public:
  explicit KernelCache(uint32_t uops) : capacity_(uops) {}

  struct Place {
    uint32_t first = 0;
    // The index in the launch's micro-ops from which the kernel must be loaded, if it must be.
    std::optional<uint32_t> load_from;
  };
  // Returns the location of a kernel, which is added to the buffer if necessary. Error: more
  // micro-ops than the buffer holds.
  StatusOr<Place> Find(const Kernel* kernel);

  // Returns the micro-ops of all loads of this launch in order. A kernel that was replaced and is
  // loaded again is stored twice, so that the loads that are already in the program stay valid.
  const std::vector<Uop>& launch_uops() const { return launch_uops_; }
  // Ends the launch. The buffer then counts as empty, because another program may use it, and the
  // next kernel is loaded to index 0.
  void EndLaunch();

 private:
  struct Resident {
    const Kernel* kernel;
    uint32_t first, end;
  };
  const uint32_t capacity_;
  uint32_t end_ = 0;  // end of the location that was assigned last
  std::vector<Resident> residents_;
  std::vector<Uop> launch_uops_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_KERNEL_H_
