// The rows of the table of design-point keys.

#include "kiln/targets/dataflow/config/keys.h"

namespace kiln::dataflow {

using hardware::Boolean;
using hardware::Choice;
using hardware::Integer;
using hardware::KeyTable;
using hardware::PowerOfTwo;
using hardware::Real;
using hardware::Text;

const KeyTable<Config>& Keys() {
  constexpr int64_t kMostBlocks = 1 << 20, kMostLuts = 1 << 28;
  static const KeyTable<Config> table(
      "dataflow",
      {
          {.name = "name",
           .type = Text(&Config::name),
           .required = true,
           .rtl = {},
           .help = "the name of the design point in reports"},
          {.name = "fpga",
           .type = Choice(&Config::ultrascale, "xc7", "xcup"),
           .rtl = {},
           .help = "the FPGA family: 7 series or UltraScale+"},
          {.name = "dsp",
           .type = Integer(&Config::dsp, 0, kMostBlocks),
           .unit = "DSP slices",
           .required = true,
           .rtl = {},
           .help = "multipliers that the machine may use"},
          {.name = "bram",
           .type = Integer(&Config::bram, 0, kMostBlocks),
           .unit = "RAMB36",
           .required = true,
           .rtl = {},
           .help = "block RAM that the machine may use, 36 Kb each"},
          {.name = "uram",
           .type = Integer(&Config::uram, 0, kMostBlocks),
           .unit = "URAM288",
           .by_default = "0",
           .rtl = {},
           .help = "ultra RAM that the machine may use, 288 Kb each"},
          {.name = "lut",
           .type = Integer(&Config::lut, 1, kMostLuts),
           .unit = "LUTs",
           .required = true,
           .rtl = {},
           .help = "look-up tables that the machine may use"},
          {.name = "clock_mhz",
           .type = Real(&Config::clock_mhz, 1e-3, 1e5),
           .unit = "MHz",
           .rtl = {},
           .help = "turns cycles into seconds, and `target_fps` into cycles"},
          {.name = "target_fps",
           .type = Real(&Config::target_fps, 0, 1e9),
           .unit = "images per second",
           .rtl = {},
           .help = "the speed that suffices: the folding takes the least resources for it; 0: as "
                   "fast as the device allows"},
          {.name = "two_way",
           .type = Boolean(&Config::two_way),
           .rtl = {},
           .help = "words may become narrower from stage to stage, too; otherwise the lanes of a "
                   "stage are a multiple of the elements before it"},
          {.name = "products_per_dsp",
           .type = PowerOfTwo(&Config::products_per_dsp, 1, 4),
           .unit = "products",
           .rtl = {},
           .help = "most products that share a DSP slice: 2 of operands of at most 8 bits, 4 of at "
                   "most 4 bits"},
          {.name = "threshold_bits",
           .type = Integer(&Config::threshold_bits, 0, 8),
           .unit = "bits",
           .rtl = {},
           .help = "the widest results that come from thresholds, which are exact; wider ones come "
                   "from a multiplication"},
          {.name = "most_lanes",
           .type = Integer(&Config::most_lanes, 1, 4096),
           .unit = "channels",
           .rtl = {},
           .help = "most channels of a word"},
          {.name = "channel_padding",
           .type = Boolean(&Config::channel_padding),
           .rtl = {},
           .help = "the elements of a convolution need not divide its channels: the last pass "
                   "computes some that are dropped"},
          {.name = "channel_bits",
           .type = Integer(&Config::channel_bits, 0, 1 << 30),
           .unit = "bits",
           .rtl = {},
           .help = "most bits of the queue between two stages; 0: as many as the stages need"},
          {.name = "slack_percent",
           .type = Real(&Config::slack_percent, 0, 1000),
           .unit = "percent",
           .rtl = {},
           .help = "the interval between images may be longer than the shortest by this much, if "
                   "that saves resources; without `target_fps`"},
          {.name = "devices",
           .type = Integer(&Config::devices, 1, 16),
           .unit = "devices",
           .rtl = {},
           .help = "devices of this kind in a row, over which the network is cut"},
          {.name = "link_bits",
           .type = Integer(&Config::link_bits, 1, 1 << 20),
           .unit = "bits per cycle",
           .rtl = {},
           .help = "what the link from a device to the next carries"},
          {.name = "passes",
           .type = Integer(&Config::passes, 1, 64),
           .unit = "passes",
           .rtl = {},
           .help = "most parts that the device runs one after the other, reconfigured in between"},
          {.name = "memory_bits",
           .type = Integer(&Config::memory_bits, 1, 1 << 20),
           .unit = "bits per cycle",
           .rtl = {},
           .help = "what passes read and write of the memory through which they hand over maps"},
          {.name = "reload_cycles",
           .type = Integer(&Config::reload_cycles, 0, int64_t{1} << 36),
           .unit = "cycles",
           .rtl = {},
           .help = "what the reconfiguration between two passes costs each image"},
          {.name = "weight_ports",
           .type = Integer(&Config::weight_ports, 0, 64),
           .unit = "ports",
           .rtl = {},
           .help = "AXI4 ports of the memory; each streams the weights of one stage, where they do "
                   "not fit on the chip or that makes the machine faster"},
          {.name = "weight_port_bytes",
           .type = PowerOfTwo(&Config::weight_port_bytes, 8, 128),
           .unit = "bytes",
           .rtl = {},
           .help = "bytes per cycle of such a port"},
          {.name = "weight_latency",
           .type = Integer(&Config::weight_latency, 1, 4096),
           .unit = "cycles",
           .rtl = {},
           .help = "cycles from an address on such a port to its first beat"},
      });
  return table;
}

}  // namespace kiln::dataflow
