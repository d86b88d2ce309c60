// Counts the events in the machine while a program runs on one image, from the program's
// instructions; cost.h turns them into energy. No event depends on time, so no level needs to run.
#ifndef KILN_TARGETS_SYSTOLIC_COST_EVENTS_H_
#define KILN_TARGETS_SYSTOLIC_COST_EVENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kiln/targets/interface/traffic.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// Bits written to and read from an on-chip memory.
struct MemoryBits {
  int64_t written = 0, read = 0;
};

// An operation of a lane of the vector unit.
enum class LaneOperation : uint8_t {
  kAdd,
  kMultiply,
  kMultiplyAdd,
  kFunction,
  kDivide,
  kCompare,
  kMove,
  kCount
};
inline constexpr size_t kLaneOperations = static_cast<size_t>(LaneOperation::kCount);

// The events of one image.
struct Events {
  // Array: cycles with a pixel (the unit's busy cycles), and multiply-accumulates of valid rows and
  // columns, including taps in the padding.
  int64_t array_cycles = 0;
  int64_t multiply_accumulates = 0;                              // of all precisions
  std::array<int64_t, kMostPrecisions> precision_accumulates{};  // the same by precision
  int64_t weights_loaded = 0;  // codes loaded into the shadow registers and from there into the
                               // array
  int64_t accumulations = 0;   // additions of a column's psum
  // Depthwise unit: multiply-accumulates of valid channels.
  int64_t depthwise_multiply_accumulates = 0;

  MemoryBits input_buffer, weight_buffer, accumulators, depthwise_inputs, depthwise_weights,
      parameters, row_buffer, operand_buffer;

  // Vector unit.
  std::array<int64_t, kLaneOperations> lane_operations{};
  // Bits of values and operands, once for each register from the source to the exit. An operand is
  // counted in all of them, although it takes none behind the stages that can read it.
  int64_t lane_register_bits = 0;

  // Outer memory: requested bytes by unit, as in Trace::units; the other bytes of beats are not
  // counted. The bytes of block scales are counted apart; traces do not count them.
  int64_t input_bytes = 0, weight_bytes = 0, parameter_bytes = 0, operand_bytes = 0,
          output_bytes = 0;
  int64_t input_scale_bytes = 0, weight_scale_bytes = 0, operand_scale_bytes = 0,
          output_scale_bytes = 0;
  int64_t program_bytes = 0;

  int64_t scale_bytes() const {
    return input_scale_bytes + weight_scale_bytes + operand_scale_bytes + output_scale_bytes;
  }
  int64_t bytes() const {
    return input_bytes + weight_bytes + parameter_bytes + operand_bytes + output_bytes +
           scale_bytes() + program_bytes;
  }
  int64_t operations(LaneOperation operation) const {
    return lane_operations[static_cast<size_t>(operation)];
  }
};

// Returns the events of instructions that CheckInstruction accepts.
Events CountEvents(std::span<const Instruction> instructions, const Config& config);

// Returns the bytes of each kernel of a program by memory port; on a shared bus, by direction.
// Instructions name their kernel, which is below `kernels`.
Traffic TrafficOf(std::span<const Instruction> instructions, size_t kernels, const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COST_EVENTS_H_
