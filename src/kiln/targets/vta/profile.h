// What the original's simulator counts of programs, as both levels report it. Each level counts on its own.
#ifndef KILN_TARGETS_VTA_PROFILE_H_
#define KILN_TARGETS_VTA_PROFILE_H_

#include <cstdint>

namespace kiln::vta {

// What programs did so far. Bytes are those of memory, without padding; steps are micro-op executions, a GEMM's that
// only resets left out.
struct Profile {
  uint64_t input_load_bytes = 0, weight_load_bytes = 0, accumulator_load_bytes = 0,
           uop_load_bytes = 0;
  uint64_t output_store_bytes = 0;
  uint64_t gemm_steps = 0, alu_steps = 0;
  bool operator==(const Profile&) const = default;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_PROFILE_H_
