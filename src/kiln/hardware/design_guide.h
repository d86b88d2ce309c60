// What the README.md of an emitted folder says beyond the list of its files: the design point, how
// software starts the machine, where inputs and outputs are, and figures.
#ifndef KILN_HARDWARE_DESIGN_GUIDE_H_
#define KILN_HARDWARE_DESIGN_GUIDE_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/sample_run.h"

namespace kiln::hardware {

struct DesignGuide {
  std::string family, design_point;
  std::string network;  // its name, or empty if the folder holds no program
  std::string part;     // a word for one of several folders of a network: "segment0". May be empty.
  double clock_mhz = 0;  // 0: the design point states none
  std::string start;     // Markdown: how software starts a run and sees its end
  // Tensors that the host sends and receives, at their addresses in memory or in the streams.
  std::vector<PlacedTensor> inputs, outputs;
  // Markdown: which kernels of the network the host computes, and when. Empty: none.
  std::string host;
  // Tensors in the machine's memory that these kernels read and write. May be empty.
  std::vector<PlacedTensor> host_reads, host_writes;
  // Numbers that software needs to start the programs, for TensorHeader: "PROGRAM_ADDRESS", 0xc000.
  std::vector<std::pair<std::string, uint64_t>> constants;
  std::string layout;   // Markdown: what the tables of tensors leave open. May be empty.
  std::string sample;   // Markdown: what the sample holds. Empty: there is none.
  std::string figures;  // Markdown: clock, speed, area, energy. May be empty.
  std::string kernels;  // the text of kernels.txt. Empty: the folder has no such file.
  std::map<std::string, std::string> files;  // the family's files: name, and what it holds
};

// Returns the text of README.md, with lines of at most 100 columns outside of tables and code.
//   top    the top module
//   buses  its buses; without any, the README lists none
//   files  the names of all files in the folder, README.md included
std::string ReadmeOf(const DesignGuide& guide, const std::string& top, std::span<const Bus> buses,
                     std::span<const std::string> files);

// The file of TensorHeader.
inline constexpr char kTensorHeader[] = "driver/kiln_tensors.h";
// Returns a C header with the address and the bytes of every input and output in the machine's
// memory as KILN_INPUT_NAME_ADDRESS, KILN_OUTPUT_NAME_BYTES, their formats as comments, and the
// guide's constants. Names are in capitals, with '_' for what identifiers cannot have; of equal
// ones, the later have a number.
std::string TensorHeader(const DesignGuide& guide);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_DESIGN_GUIDE_H_
