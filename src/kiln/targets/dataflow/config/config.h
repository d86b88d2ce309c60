// A design point of the dataflow family: the device with its clock, and what the folding search may
// do. The hardware itself follows from the network.
#ifndef KILN_TARGETS_DATAFLOW_CONFIG_CONFIG_H_
#define KILN_TARGETS_DATAFLOW_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::dataflow {

// The keys of a design point (keys.h, docs/dataflow-design-points.md).
struct Config {
  std::string name;
  bool ultrascale = true;  // xcup, else xc7: the families of synth_xilinx
  // The resources that the machine may use.
  int64_t dsp = 1728;
  int64_t bram = 312;  // RAMB36
  int64_t uram = 96;
  int64_t lut = 230400;
  double clock_mhz = 200;
  double target_fps = 0;         // images per second that suffice; 0: as many as the device allows
  bool two_way = true;           // lanes of neighbouring stages divide in either direction
  int products_per_dsp = 2;      // 1, 2 or 4
  int threshold_bits = 4;        // thresholds give the codes with up to this many bits
  int most_lanes = 256;          // of a word
  bool channel_padding = false;  // convolutions may compute a few channels that are dropped
  int channel_bits = 0;          // the most bits of one channel; 0: no limit
  double slack_percent = 0;      // the interval may be longer by this much if it saves resources
  // Several devices of this kind in a row, or several passes of one device. One of the two is 1.
  int devices = 1;
  int link_bits = 64;         // per cycle, from each device to the next
  int passes = 1;             // at most
  int memory_bits = 128;      // per cycle, of what passes hand over in memory
  int64_t reload_cycles = 0;  // between two passes, for each image
  // Memory from which weights can be streamed.
  int64_t weight_ports = 0;    // AXI4 ports, each for the weights of one stage
  int weight_port_bytes = 16;  // of a beat: 8 to 128
  int weight_latency = 64;     // cycles from an address to its first beat
};

// Reads a design point from YAML text. Errors name the key; `source` is the file's name.
StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source);
// Returns YAML that is read as the same design point.
std::string PrintConfig(const Config& config);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_CONFIG_CONFIG_H_
