// VTA is timed as a whole: its longest paths cross units (docs/measurements-area.md).
#include "kiln/targets/vta/cost/clock_model.h"

#include "fmt/format.h"

namespace kiln::vta {

std::vector<TimedModule> TimedModulesOf(const Config& c) {
  return {{.unit = "whole machine",
           .module = "kiln_vta",
           .parameters = fmt::format(
               "INPUT_BITS={},WEIGHT_BITS={},ACCUMULATOR_BITS={},BATCH={},BLOCK_IN={},BLOCK_OUT={},"
               "UOP_BUFFER_BYTES={},INPUT_BUFFER_BYTES={},WEIGHT_BUFFER_BYTES={},"
               "ACCUMULATOR_BUFFER_BYTES={},MEMORY_PORT_BYTES={},MEMORY_LATENCY={},"
               "INSTRUCTION_QUEUE_DEPTH={},ACCUMULATOR_BANKS={}",
               c.input_bits, c.weight_bits, c.accumulator_bits, c.batch, c.block_in, c.block_out,
               c.uop_buffer_bytes, c.input_buffer_bytes, c.weight_buffer_bytes,
               c.accumulator_buffer_bytes, c.memory_port_bytes, c.memory_latency,
               c.instruction_queue_depth, c.accumulator_banks),
           .unmeasurable = ""}};
}

}  // namespace kiln::vta
