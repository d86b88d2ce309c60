// The derived members of an encoded instruction: they follow from its own fields and the design
// point, and are stored so that the hardware neither divides nor multiplies.
// rtl/systolic/kiln_systolic_pkg.sv says what each means and which unit reads it; it uses the same
// names.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_ISA_DERIVED_H_
#define KILN_TARGETS_SYSTOLIC_ISA_ISA_DERIVED_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {

// Distances in bytes within an image whose rows and columns of positions are row_stride and
// column_stride apart. Modulo 2^64; instructions keep the lowest 32 bits in two's complement.
struct ImageSteps {
  int64_t row_origin = 0, column_origin = 0;
  int64_t tile_row_stride = 0, tile_column_stride = 0;
  int64_t output_row_stride = 0, output_column_stride = 0;
  int64_t tap_row_stride = 0, tap_column_stride = 0;
};

// Distances in bytes between row groups and between column tiles of the weights.
struct WeightSteps {
  int64_t group_stride = 0, column_tile_stride = 0;
};

// How the elements of a word are addressed.
enum class Access : uint8_t { kDense = 0, kBroadcast = 1, kStrided = 2 };

// Derived members of a stream.
struct StreamSteps {
  Access access = Access::kDense;
  int64_t word_stride = 0;
  ImageSteps scales;  // used with a window only
};

// Derived members of a vector pass.
struct PassSteps {
  uint8_t reads = 0;  // bit i: operand i
  int64_t gap = 0;
};

// The derived members of one instruction. Where the package gives a member 24 bits, it is stored
// modulo 2^24.
struct Derived {
  // Tiling.
  Geometry geometry;
  bool parameters_by_batch = false;
  int32_t last_tile_height = 1, last_tile_width = 1;
  int32_t last_block_columns = 1, last_tile_columns = 1;
  int64_t tile_pixels = 1;
  int64_t visits = 1;  // modulo 2^16
  // Reduction.
  int32_t fills = 1, last_fill_groups = 1, last_group_rows = 1;
  // Region.
  int64_t places_y = 1, places_x = 1, last_places_y = 1, last_places_x = 1;
  bool compact_y = false, compact_x = false;
  int64_t row_pitch = 1, group_pitch = 1;
  int64_t output_row_step = 1, output_column_step = 1;
  // From the last tap of a row to the next row's first, and from a tap to the next one of its row.
  int64_t tap_row_step = 0, tap_column_step = 0;
  int64_t tap_steps = 0;
  // Input.
  ImageSteps input, input_scales;
  int64_t run_entries = 1, row_bytes = 0, tile_rows = 1, tile_columns = 1;
  bool joined = false;
  // Weights.
  bool by_columns = false;
  WeightSteps weights, weight_scales;
  // Vector program.
  int64_t words = 1, last_lanes = 1, rows_in_flight = 1, depth = 1;
  bool reads_memory = false;
  std::array<StreamSteps, kMaxOperands> operands;
  StreamSteps output;
  ImageSteps window;
  float window_factor = 1;
  std::array<PassSteps, kMaxPasses> passes;
};

// Returns the derived members of an instruction that CheckInstruction accepts. For other
// instructions they may be meaningless.
Derived DeriveMembers(const Instruction& instruction, const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_ISA_DERIVED_H_
