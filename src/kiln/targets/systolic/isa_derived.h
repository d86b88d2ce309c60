// What an instruction's words carry beside its own fields: members that follow from those and the design point, so that
// hardware neither divides nor multiplies. rtl/systolic/kiln_systolic_pkg.sv tells what each means and who reads it;
// names are the same there.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_DERIVED_H_
#define KILN_TARGETS_SYSTOLIC_ISA_DERIVED_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/walk.h"

namespace kiln::systolic {

// Steps in bytes through an image whose rows and columns of places lie row_stride and column_stride apart. Modulo 2^64;
// instructions keep the lowest 40 bits, of two's complement.
struct ImageSteps {
  int64_t row_origin = 0, column_origin = 0;
  int64_t tile_row_stride = 0, tile_column_stride = 0;
  int64_t output_row_stride = 0, output_column_stride = 0;
  int64_t tap_row_stride = 0, tap_column_stride = 0;
};

struct WeightSteps {
  int64_t group_stride = 0, column_tile_stride = 0;
};

enum class Access : uint8_t { kDense = 0, kBroadcast = 1, kStrided = 2 };

struct StreamSteps {
  Access access = Access::kDense;
  int64_t word_stride = 0;
  ImageSteps scales;  // with a window
};

struct PassSteps {
  uint8_t reads = 0;  // bit i: operand i
  int64_t gap = 0;
};

// Modulo 2^24 where the package has 24 bits.
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

// For instructions that CheckInstruction accepts; of others members may be meaningless.
Derived DeriveMembers(const Instruction& instruction, const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_DERIVED_H_
