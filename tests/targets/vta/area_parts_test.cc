// The modules that a VTA machine's area is summed over: how often each is there, and their sizes,
// against what rtl/vta/kiln_vta.sv puts together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/targets/vta/cost/cost.h"

namespace kiln::vta {
namespace {

// Batches of two, 4 inputs by 4 outputs in int8, sums of int32.
Config SmallConfig() {
  Config c;
  c.name = "small";
  c.batch = 2;
  c.block_in = 4;
  c.block_out = 4;
  c.uop_buffer_bytes = 256;           // 64 micro-ops
  c.input_buffer_bytes = 1024;        // 128 elements of 8 bytes
  c.weight_buffer_bytes = 512;        // 32 elements of 16 bytes
  c.accumulator_buffer_bytes = 2048;  // 64 elements of 32 bytes
  c.accumulator_banks = 2;
  c.memory_port_bytes = 16;
  c.memory_latency = 10;
  c.instruction_queue_depth = 64;
  return c;
}

// "unit: module x count PARAMETER=value ..." with the parameters that are named.
std::vector<std::string> PartsWith(const std::vector<const char*>& names) {
  std::vector<std::string> parts;
  for (const auto& unit : UnitsOf(SmallConfig())) {
    for (const auto& module : unit.modules) {
      std::string line = fmt::format("{}: {} x {}", unit.unit, module.module, module.count);
      for (const char* name : names) {
        const int64_t value = module.parameters.Number(name, -1);
        if (value >= 0) line += fmt::format(" {}={}", name, value);
      }
      parts.push_back(line);
    }
  }
  return parts;
}

TEST(VtaAreaParts, ModulesOfASmallMachine) {
  EXPECT_THAT(PartsWith({}),
              testing::ElementsAre(
                  "GEMM unit: kiln_vta_dot x 4",  // two outputs each, of two batches
                  "GEMM unit: kiln_vta_gemm x 1", "ALU: kiln_vta_alu x 1",
                  "accumulators: kiln_vta_accumulators x 1",
                  "dispatcher and loader: kiln_vta_compute_stage x 1",
                  "load and store stage: kiln_vta_load_stage x 1",
                  "load and store stage: kiln_vta_store_stage x 1",
                  "memory port: kiln_vta_reads x 1", "memory port: kiln_axi_write_port x 1",
                  "fetch and queues: kiln_vta_fetch x 1", "control: kiln_vta x 1"));
}

TEST(VtaAreaParts, SizesOfPortsAndNumbers) {
  EXPECT_THAT(
      PartsWith({"NUMBERS", "BANKS", "INDEX_BITS", "BYTES_BITS", "OUTPUT_BYTES", "MAX_BYTES",
                 "DATA_BYTES", "OUTSTANDING", "UOP_INDEX_BITS", "INPUT_INDEX_BITS",
                 "WEIGHT_INDEX_BITS", "ACCUMULATOR_INDEX_BITS"}),
      testing::IsSupersetOf({
          // 2 x 4 numbers an accumulator, 64 of them in 2 banks.
          std::string("accumulators: kiln_vta_accumulators x 1 NUMBERS=8 BANKS=2 INDEX_BITS=6"),
          // Elements of up to 32 bytes, counted by 6 bits.
          std::string("load and store stage: kiln_vta_load_stage x 1 BYTES_BITS=6"),
          std::string("load and store stage: kiln_vta_store_stage x 1 INDEX_BITS=6 OUTPUT_BYTES=8"),
          std::string("memory port: kiln_vta_reads x 1 MAX_BYTES=32"),
          std::string(
              "memory port: kiln_axi_write_port x 1 MAX_BYTES=8 DATA_BYTES=16 OUTSTANDING=12"),
          std::string("fetch and queues: kiln_vta_fetch x 1 UOP_INDEX_BITS=6 INPUT_INDEX_BITS=7 "
                      "WEIGHT_INDEX_BITS=5 "
                      "ACCUMULATOR_INDEX_BITS=6"),
      }));
}

}  // namespace
}  // namespace kiln::vta
