// What happens in the machine while a program runs on one image, counted from its instructions: for energy. Nothing
// here depends on time, so no level has to run.
#ifndef KILN_TARGETS_SYSTOLIC_EVENTS_H_
#define KILN_TARGETS_SYSTOLIC_EVENTS_H_

#include <array>
#include <cstdint>
#include <span>

#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

// Bits that go into an on-chip memory and come out.
struct MemoryBits {
  int64_t written = 0, read = 0;
};

// What a lane of the vector unit does with a number.
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

struct Events {
  // Array: cycles with a pixel (the unit's busy cycles), and multiply-accumulates of rows and columns that count, taps
  // in the padding included.
  int64_t array_cycles = 0;
  int64_t multiply_accumulates = 0;                              // of all precisions
  std::array<int64_t, kMostPrecisions> precision_accumulates{};  // of them, by precision
  int64_t weights_loaded = 0;  // codes into shadow registers, and from there into the array
  int64_t accumulations = 0;   // of a column's psum
  // Depthwise unit: multiply-accumulates of channels that count.
  int64_t depthwise_multiply_accumulates = 0;

  MemoryBits input_buffer, weight_buffer, accumulators, depthwise_inputs, depthwise_weights,
      parameters, row_buffer;

  // Vector unit.
  std::array<int64_t, kLaneOperations> lane_operations{};
  int64_t lane_register_bits = 0;  // bits of values that move on by a register

  // Outer memory, bytes that count, by unit as Trace::units has them; what a beat brings besides is not in it. Block
  // scales of all units together, which traces do not count.
  int64_t input_bytes = 0, weight_bytes = 0, parameter_bytes = 0, operand_bytes = 0,
          output_bytes = 0;
  int64_t scale_bytes = 0;
  int64_t program_bytes = 0;

  int64_t bytes() const {
    return input_bytes + weight_bytes + parameter_bytes + operand_bytes + output_bytes +
           scale_bytes + program_bytes;
  }
  int64_t operations(LaneOperation operation) const {
    return lane_operations[static_cast<size_t>(operation)];
  }
};

// Of instructions that CheckInstruction accepts.
Events CountEvents(std::span<const Instruction> instructions, const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_EVENTS_H_
