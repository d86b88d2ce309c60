// A design point of the VTA family: the Versatile Tensor Accelerator (Moreau et al., arXiv
// 1807.04188), bit-compatible with its hardware version 0.0.2.
//
// In one cycle the machine multiplies a batch x block_in matrix of inputs by a block_out x block_in
// matrix of weights and adds the product to a batch x block_out matrix of accumulators. All sizes
// are powers of two, because the original's configuration states their logarithms. Buffer contents
// are counted in elements (the matrices above).
#ifndef KILN_TARGETS_VTA_CONFIG_CONFIG_H_
#define KILN_TARGETS_VTA_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::vta {

// The keys of a design point (keys.h) and the element sizes, counts and index widths that follow.
struct Config {
  std::string name;

  // Bits per number: 1 to 16, for accumulators 8 to 32. Outputs are as wide as inputs.
  int input_bits = 8;
  int weight_bits = 8;
  int accumulator_bits = 32;
  int batch = 1;
  int block_in = 16;
  int block_out = 16;

  // Sizes in bytes. The output buffer has as many elements as the accumulator buffer.
  int64_t uop_buffer_bytes = 1 << 15;
  int64_t input_buffer_bytes = 1 << 15;
  int64_t weight_buffer_bytes = 1 << 18;
  int64_t accumulator_buffer_bytes = 1 << 17;

  // Parameters that affect time only: docs/vta-machine.md.
  int memory_port_bytes = 8;  // bytes per beat: 8 to 128
  int memory_latency = 32;    // cycles
  int instruction_queue_depth = 512;
  int accumulator_banks = 4;  // a power of two; equal parts of the accumulators' indices
  double clock_mhz = 100;

  // Return the bytes of one element in memory. A micro-op has 4.
  int64_t input_element_bytes() const { return int64_t{batch} * block_in * input_bits / 8; }
  int64_t weight_element_bytes() const { return int64_t{block_out} * block_in * weight_bits / 8; }
  int64_t accumulator_element_bytes() const {
    return int64_t{batch} * block_out * accumulator_bits / 8;
  }
  int64_t output_element_bytes() const { return int64_t{batch} * block_out * input_bits / 8; }
  // Return the number of elements of each buffer, a power of two.
  int64_t uops() const { return uop_buffer_bytes / kUopBytes; }
  int64_t inputs() const { return input_buffer_bytes / input_element_bytes(); }
  int64_t weights() const { return weight_buffer_bytes / weight_element_bytes(); }
  int64_t accumulators() const { return accumulator_buffer_bytes / accumulator_element_bytes(); }
  // Return the width in bits of an index of each buffer.
  int uop_index_bits() const;
  int input_index_bits() const;
  int weight_index_bits() const;
  int accumulator_index_bits() const;

  // Returns the accumulator elements per bank.
  int64_t accumulators_of_bank() const { return accumulators() / accumulator_banks; }

  static constexpr int64_t kUopBytes = 4;
};

// Returns the design point's sizes as the original writes them, "1x16_i8w8a32_15_15_18_17", or with
// unequal blocks "1x16x32_i8...".
std::string SizesOf(const Config& config);

// Parse a design point from YAML (keys are Config's members) or from the original's JSON (keys
// LOG_INP_WIDTH, LOG_WGT_WIDTH, LOG_ACC_WIDTH, LOG_BATCH, LOG_BLOCK, LOG_UOP_BUFF_SIZE,
// LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE, LOG_ACC_BUFF_SIZE). In JSON, an absent key has the
// original's default, HW_VER can only be 0.0.2, and other keys are ignored unless they begin with
// LOG_ or are keys of the YAML form, which is an error. `source` names the text in errors. Errors:
// text that does not parse; a value out of range; a combination that has no encoding or whose
// elements are not whole bytes, with the reason.
StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source);
StatusOr<Config> ParseOriginalConfig(std::string_view json, std::string_view source);
// Parses the text of the file `source`. A file that ends in .json holds the original's form, either
// itself or under a key "config" as in vectors; any other file is YAML.
StatusOr<Config> ParseConfigOfFile(std::string_view text, std::string_view source);
// Reads a design point from a file. If the name is empty, returns the original's default.
StatusOr<Config> LoadConfig(const std::string& file);
// Does the same for a file or the name of a design point, as the commands' --on takes them
// (FindResource).
StatusOr<Config> FindConfig(const std::string& name);
// Returns YAML that reads back to the same design point.
std::string PrintConfig(const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CONFIG_CONFIG_H_
