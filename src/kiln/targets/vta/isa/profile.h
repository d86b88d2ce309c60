// The counters of the original's simulator, which the functional and the cycle level both report.
// Each level counts independently, and program vectors state the expected values.
#ifndef KILN_TARGETS_VTA_ISA_PROFILE_H_
#define KILN_TARGETS_VTA_ISA_PROFILE_H_

#include <cstdint>

namespace kiln::vta {

// The work of all programs so far. Bytes are those moved from or to memory, without padding. Steps
// are micro-op executions, except those of GEMM instructions with `reset`.
struct Profile {
  uint64_t input_load_bytes = 0, weight_load_bytes = 0, accumulator_load_bytes = 0,
           uop_load_bytes = 0;
  uint64_t output_store_bytes = 0;
  uint64_t gemm_steps = 0, alu_steps = 0;
  bool operator==(const Profile&) const = default;
};

// A counter of Profile and its key in program vectors.
struct ProfileCounter {
  const char* name;
  uint64_t Profile::* member;
};
inline constexpr ProfileCounter kProfileCounters[] = {
    {"inp_load_nbytes", &Profile::input_load_bytes},
    {"wgt_load_nbytes", &Profile::weight_load_bytes},
    {"acc_load_nbytes", &Profile::accumulator_load_bytes},
    {"uop_load_nbytes", &Profile::uop_load_bytes},
    {"out_store_nbytes", &Profile::output_store_bytes},
    {"gemm_counter", &Profile::gemm_steps},
    {"alu_counter", &Profile::alu_steps}};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_PROFILE_H_
