// Command-line options and file access that the simulations of all emitted designs share.
#ifndef KILN_RTL_TESTBENCH_KILN_SIMULATE_OPTIONS_H_
#define KILN_RTL_TESTBENCH_KILN_SIMULATE_OPTIONS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>
#include <verilated.h>

#include "kiln_axi_memory.h"

namespace kiln::testbench {

// Prints a message and ends the simulation with exit code 2.
[[noreturn]] inline void Fail(const std::string& message) {
  std::fprintf(stderr, "simulate: %s\n", message.c_str());
  std::exit(2);
}

// Makes `folder` the working directory until Leave; an empty name leaves it as it is. A model opens
// the files of its memories there when it is constructed and first evaluated.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) {
    if (getcwd(before_, sizeof before_) == nullptr) Fail("the working directory has no path");
    if (!folder.empty() && chdir(folder.c_str()) != 0) Fail(folder + ": is no folder");
  }
  void Leave() const {
    if (chdir(before_) != 0) Fail("the working directory is gone");
  }

 private:
  char before_[4096];
};

// A command-line option with its value. Take stores the value as a number, or calls Fail if it is
// not one.
struct Option {
  std::string name, value;

  void Take(uint64_t& to) const {
    char* end = nullptr;
    const uint64_t number = std::strtoull(value.c_str(), &end, 0);
    if (end == value.c_str() || *end != '\0') Fail(name + ": " + value + " is no number");
    to = number;
  }
  void Take(double& to) const {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end == value.c_str() || *end != '\0') Fail(name + ": " + value + " is no number");
    to = number;
  }
};

// The options that simulations have in common.
struct SimulateOptions {
  std::string memory, result, wave, sample;
  uint64_t seed = 1, limit = uint64_t{1} << 40;
  uint64_t wave_from = 0, wave_to = ~uint64_t{0};  // cycles of the program
  bool wave_whole = true;                          // record everything, without a window
  AxiTiming timing;

  // Stores an option. Returns false if it is not one of the common options.
  bool Take(const Option& option) {
    if (option.name == "--memory") {
      memory = option.value;
    } else if (option.name == "--result") {
      result = option.value;
    } else if (option.name == "--sample") {
      sample = option.value;
    } else if (option.name == "--wave") {
      wave = option.value;
    } else if (option.name == "--wave-from") {
      option.Take(wave_from);
      wave_whole = false;
    } else if (option.name == "--wave-to") {
      option.Take(wave_to);
      wave_whole = false;
    } else if (option.name == "--seed") {
      option.Take(seed);
    } else if (option.name == "--limit") {
      option.Take(limit);
    } else if (option.name == "--latency") {
      option.Take(timing.latency);
    } else if (option.name == "--dram") {
      option.Take(timing.bytes_per_cycle);
    } else if (option.name == "--row-miss") {
      option.Take(timing.row_miss);
    } else if (option.name == "--stalls") {
      double stalls = 0;
      option.Take(stalls);
      timing.StallAll(stalls);
    } else {
      return false;
    }
    return true;
  }
};

// Initialises registers and memories that neither a reset nor an initial block sets with random
// bits from `seed`. This reveals designs that read a register before they write it. Must be called
// before the model is constructed; the same seed gives the same bits.
inline void BeginAtRandom(VerilatedContext& context, uint64_t seed) {
  context.randReset(2);
  context.randSeed(static_cast<int>(seed % 0x7fffffff) +
                   1);  // 0 would be a seed of Verilator's choice
}

// Returns the bytes of a file; calls Fail if it cannot be read.
inline std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Writes a file; calls Fail if it cannot be written.
inline void WriteBytes(const std::string& path, const uint8_t* bytes, size_t count) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  if (!out) Fail(path + ": cannot be written");
}

}  // namespace kiln::testbench

#endif  // KILN_RTL_TESTBENCH_KILN_SIMULATE_OPTIONS_H_
