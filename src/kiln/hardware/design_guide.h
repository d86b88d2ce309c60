// What the README.md of an emitted folder says beyond the list of its files: the design point, how
// software starts the machine, where inputs and outputs are, and figures.
#ifndef KILN_HARDWARE_DESIGN_GUIDE_H_
#define KILN_HARDWARE_DESIGN_GUIDE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/hardware/sample_run.h"
#include "kiln/hardware/top_module.h"

namespace kiln::hardware {

// A launch of a machine whose operands the host gathers: a program with its data in the streams.
struct LaunchGuide {
  std::string kernel, operation;  // of the network
  // Numbers for the table of launches and as constants of TensorHeader: {"load_beats", 12}.
  std::vector<std::pair<std::string, uint64_t>> numbers;
  // Lists of numbers, as constants of TensorHeader: {"scales", {0.5, 0.25}}.
  std::vector<std::pair<std::string, std::vector<double>>> lists = {};
  // Markdown: what each part of the stream in holds, and what becomes of the results.
  std::vector<std::string> reads = {}, writes = {};
};

// The file of a project with the constants that `reads` of launches name.
inline constexpr char kLaunchConstants[] = "constants.bin";
// The file with the beats that load the program of each launch.
inline constexpr char kLaunchLoads[] = "loads.bin";

// How the numbers of a stored image become the values of the network's input: the image is resized
// and cropped as `text` says, then value = (number * multiply / divide - mean) / std.
struct InputPreprocess {
  std::string text;  // "scale=1/255,mean=0.286,std=0.353". Empty: none is stated.
  double multiply = 1, divide = 1;
  std::vector<double> mean = {}, std = {};  // one number, or one for each channel; or none
};

struct DesignGuide {
  std::string family, design_point;
  std::string network;  // its name, or empty if the folder holds no program
  std::string part;     // a word for one of several folders of a network: "segment0". May be empty.
  double clock_mhz = 0;           // 0: the design point states none
  std::string start;              // Markdown: how software starts a run and sees its end
  std::string bus_requests = {};  // Markdown: how many are in flight on AXI4 masters. May be empty.
  // Tensors that the host sends and receives, at their addresses in memory or at their positions in
  // streams; or the beats of streams, for machines whose operands the host gathers (`launches`).
  std::vector<PlacedTensor> inputs, outputs;
  enum class Places { kMemory, kStreams, kBeats } places = Places::kMemory;
  // The launches that the sample holds, or all launches of the network, in order, with the same
  // numbers each, and Markdown that says what the numbers are. Empty: software starts programs as
  // `start` says.
  std::vector<LaunchGuide> launches;
  std::string launches_text;
  // Markdown: tensors of the launches that only move the elements of others. May be empty.
  std::vector<std::string> views;
  // Markdown: which kernels of the network the host computes, and when. Empty: none.
  std::string host;
  // Tensors in the machine's memory that these kernels read and write. May be empty.
  std::vector<PlacedTensor> host_reads, host_writes;
  std::optional<InputPreprocess> preprocess = {};  // of the network's input. Empty: says nothing.
  // Numbers that software needs to start the programs, for TensorHeader: "PROGRAM_ADDRESS", 0xc000.
  std::vector<std::pair<std::string, uint64_t>> constants;
  std::string layout;   // Markdown: what the tables of tensors leave open. May be empty.
  std::string sample;   // Markdown: what the sample holds. Empty: there is none.
  std::string figures;  // Markdown: clock, speed, area, energy. May be empty.
  std::string kernels;  // the text of kernels.txt. Empty: the folder has no such file.
  std::map<std::string, std::string> files;  // the family's files: name, and what it holds
};

// Returns the text of README.md, with lines of at most 100 columns outside of tables and code.
//   top          the name of the top module
//   description  its ports and parameters; null: the README lists none
//   core         the name of the folder's core for FuseSoC
//   files        the names of all files in the folder, README.md included
std::string ReadmeOf(const DesignGuide& guide, const std::string& top, const TopModule* description,
                     const std::string& core, std::span<const std::string> files);

// The file of TensorHeader.
inline constexpr char kTensorHeader[] = "driver/kiln_tensors.h";
// Returns a C header with the guide's constants, and for every input and output its address in
// memory or its offset in a stream, its bytes, and what its numbers mean:
//   KILN_INPUT_NAME_ADDRESS or KILN_INPUT_NAME_OFFSET, KILN_OUTPUT_NAME_BYTES
//   KILN_INPUT_NAME_SCALE, KILN_INPUT_NAME_ZERO_POINT              of one scale
//   KILN_OUTPUT_NAME_SCALES, KILN_OUTPUT_NAME_SCALES_COUNT, ..._OFFSETS   lists by channel
//   KILN_PREPROCESS_MULTIPLY, _DIVIDE, _MEAN, _STD   what becomes of pixels, with a comment
// Their formats are comments. Beats have none of these. The numbers of launches are KILN_LAUNCHES
// and KILN_LAUNCH_0_NUMBER and so on. Names are in capitals, with '_' for what identifiers cannot
// have; of equal ones, the later have a number.
std::string TensorHeader(const DesignGuide& guide);
// Returns whether there is anything to write in it.
bool HasTensorHeader(const DesignGuide& guide);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_DESIGN_GUIDE_H_
