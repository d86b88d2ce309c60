// What the simulations of all emitted designs share: their common options, and files of bytes.
#ifndef KILN_RTL_TESTBENCH_KILN_SIMULATE_OPTIONS_H_
#define KILN_RTL_TESTBENCH_KILN_SIMULATE_OPTIONS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <verilated.h>

#include "kiln_axi_memory.h"

namespace kiln::testbench {

// Ends the simulation with exit code 2.
[[noreturn]] inline void Fail(const std::string& message) {
  std::fprintf(stderr, "simulate: %s\n", message.c_str());
  std::exit(2);
}

// An option and its value; what is no number where one is wanted fails.
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

struct SimulateOptions {
  std::string memory, result, wave;
  uint64_t seed = 1, limit = uint64_t{1} << 40;
  uint64_t wave_from = 0, wave_to = ~uint64_t{0};  // cycles of the program
  bool wave_whole = true;                          // and what is before the program
  AxiTiming timing;

  // False: an option that not all simulations have.
  bool Take(const Option& option) {
    if (option.name == "--memory") {
      memory = option.value;
    } else if (option.name == "--result") {
      result = option.value;
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

// Lets registers and memories that neither a reset nor an initial block sets begin with random bits of `seed`, so that
// a design that reads one before it has written it shows. Before the model is made; the same seed gives the same bits.
inline void BeginAtRandom(VerilatedContext& context, uint64_t seed) {
  context.randReset(2);
  context.randSeed(static_cast<int>(seed % 0x7fffffff) +
                   1);  // 0 would be a seed of Verilator's choice
}

inline std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void WriteBytes(const std::string& path, const uint8_t* bytes, size_t count) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  if (!out) Fail(path + ": cannot be written");
}

}  // namespace kiln::testbench

#endif  // KILN_RTL_TESTBENCH_KILN_SIMULATE_OPTIONS_H_
