// The rows of the table of design-point keys.

#include "kiln/targets/vta/config/keys.h"

#include <algorithm>

#include "kiln/hardware/axi_port.h"

namespace kiln::vta {
namespace {

using hardware::Integer;
using hardware::KeyTable;
using hardware::Limit;
using hardware::PowerOfTwo;
using hardware::Real;
using hardware::Text;

constexpr int64_t kMaxBufferBytes = int64_t{1} << 30;
constexpr int kMaxBanks = 16;

int64_t MostBanks(const Config& c) { return std::min<int64_t>(kMaxBanks, c.accumulators()); }

}  // namespace

const KeyTable<Config>& Keys() {
  static const KeyTable<Config> table(
      "vta",
      {
          {.name = "name",
           .type = Text(&Config::name),
           .required = true,
           .rtl = {},
           .help = "the name of the design point in reports"},
          {.name = "input_bits",
           .type = PowerOfTwo(&Config::input_bits, 1, 16),
           .unit = "bits",
           .original = "LOG_INP_WIDTH",
           .rtl = {{"INPUT_BITS"}},
           .help = "width of an input and of an output; networks need 8, programs run with all"},
          {.name = "weight_bits",
           .type = PowerOfTwo(&Config::weight_bits, 1, 16),
           .unit = "bits",
           .original = "LOG_WGT_WIDTH",
           .rtl = {{"WEIGHT_BITS"}},
           .help = "width of a weight; networks need 8, programs run with all"},
          {.name = "accumulator_bits",
           .type = PowerOfTwo(&Config::accumulator_bits, 8, 32),
           .unit = "bits",
           .condition = "at least `input_bits`",
           .original = "LOG_ACC_WIDTH",
           .rtl = {{"ACCUMULATOR_BITS"}},
           .help = "width of an accumulator; networks need 32, programs run with all"},
          {.name = "batch",
           .type = PowerOfTwo(&Config::batch, 1, 256),
           .unit = "rows",
           .original = "LOG_BATCH",
           .rtl = {{"BATCH"}},
           .help = "rows of an input matrix and of an accumulator matrix"},
          {.name = "block_in",
           .type = PowerOfTwo(&Config::block_in, 1, 256),
           .unit = "columns",
           .original = "LOG_BLOCK",
           .rtl = {{"BLOCK_IN"}},
           .help = "columns of an input matrix and of a weight matrix: the reduction"},
          {.name = "block_out",
           .type = PowerOfTwo(&Config::block_out, 1, 256),
           .unit = "columns",
           .original = "LOG_BLOCK",
           .rtl = {{"BLOCK_OUT"}},
           .help = "columns of an accumulator matrix and rows of a weight matrix; networks need "
                   "`block_in`"},
          {.name = "uop_buffer_bytes",
           .type = PowerOfTwo(&Config::uop_buffer_bytes, 8, kMaxBufferBytes),
           .unit = "bytes",
           .original = "LOG_UOP_BUFF_SIZE",
           .rtl = {{"UOP_BUFFER_BYTES"}},
           .help = "size of the micro-op buffer; a micro-op has 4 bytes"},
          {.name = "input_buffer_bytes",
           .type = PowerOfTwo(&Config::input_buffer_bytes, 1, kMaxBufferBytes),
           .unit = "bytes",
           .original = "LOG_INP_BUFF_SIZE",
           .rtl = {{"INPUT_BUFFER_BYTES"}},
           .help = "size of the input buffer"},
          {.name = "weight_buffer_bytes",
           .type = PowerOfTwo(&Config::weight_buffer_bytes, 1, kMaxBufferBytes),
           .unit = "bytes",
           .original = "LOG_WGT_BUFF_SIZE",
           .rtl = {{"WEIGHT_BUFFER_BYTES"}},
           .help = "size of the weight buffer"},
          {.name = "accumulator_buffer_bytes",
           .type = PowerOfTwo(&Config::accumulator_buffer_bytes, 1, kMaxBufferBytes),
           .unit = "bytes",
           .original = "LOG_ACC_BUFF_SIZE",
           .rtl = {{"ACCUMULATOR_BUFFER_BYTES"}},
           .help = "size of the accumulator buffer; the output buffer has as many elements"},
          {.name = "memory_port_bytes",
           .type = PowerOfTwo(&Config::memory_port_bytes, 8, 128),
           .unit = "bytes per cycle",
           .rtl = {{"MEMORY_PORT_BYTES"}},
           .help = "width of the AXI4 data bus"},
          {.name = "memory_latency",
           .type = Integer(&Config::memory_latency, kAxiPortLatency + 1, 100000),
           .unit = "cycles",
           .rtl = {{"MEMORY_LATENCY"}},
           .help = "from a request to its first data, including two cycles of the port"},
          {.name = "instruction_queue_depth",
           .type = Integer(&Config::instruction_queue_depth, 2, 65536),
           .unit = "instructions",
           .rtl = {{"INSTRUCTION_QUEUE_DEPTH"}},
           .help = "depth of the instruction queue of each stage"},
          {.name = "accumulator_banks",
           .type = PowerOfTwo(&Config::accumulator_banks, 1, Limit<Config>(kMaxBanks, MostBanks)),
           .unit = "banks",
           .condition = "at most one per element; the default, too",
           .rtl = {{"ACCUMULATOR_BANKS"}},
           .help = "banks of the accumulator buffer: equal parts of its indices"},
          {.name = "clock_mhz",
           .type = Real(&Config::clock_mhz, 1e-3, 1e5),
           .unit = "MHz",
           .rtl = {},
           .help = "turns cycles into seconds; nothing else depends on it"},
      });
  return table;
}

}  // namespace kiln::vta
