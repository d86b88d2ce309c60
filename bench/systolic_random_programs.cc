// Runs random programs on random systolic design points at three levels: functional, cycle, and the
// emitted RTL in Verilator. Compares all bits of the memory, and the cycle in which every
// instruction finishes. Formats take turns; at the end the program prints how often each occurred.
//
//   systolic_random_programs [--design-points 20] [--programs 500] [--seed 1]
//                                       exit code 1 at the first difference
//   systolic_random_programs --largest-array 4   arrays of at most this many rows and columns
//   systolic_random_programs --vector-format fp16.saturate
//                                       only design points with that vector format
//   systolic_random_programs --list              prints the design points by seed
//   systolic_random_programs --on FILE --seed 7 --first-program 310 --programs 1
//                                       one program again, on design point 7 as YAML
//
// A design point is emitted and built once (about a minute of processor time) and then runs its
// programs, one process each. A third of the programs run behind a DRAM, and a third behind a
// memory that stalls at random; cycles are compared behind the DRAM if the cycle level simulates
// it, and not behind stalls. A difference is reported with the design point, the seeds and the
// program, which make a test.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/parallel.h"
#include "kiln/support/process.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/rtl/simulation.h"
#include "tests/targets/systolic/agreement.h"

namespace kiln::systolic {
namespace {

constexpr uint64_t kProgramsOfAPoint = 1'000'000;  // distance of the design points' program seeds

// Counts how often each format occurred in each field.
class FormatCounts {
 public:
  void Add(const Config& c) {
    for (int p = 0; p < c.precisions(); ++p) {
      ++inputs_[c.input_format_of(p).name];
      ++weights_[c.weight_format_of(p).name];
    }
    ++sums_[c.quire ? "quire" : c.psum_format.name];
    ++accumulations_[c.accumulation_format.name];
    ++vectors_[c.vector_format.name];
  }
  void Print() const {
    PrintPlace("inputs", inputs_, NamedFormatsFor(&Config::input_format));
    PrintPlace("weights", weights_, NamedFormatsFor(&Config::weight_format));
    PrintPlace("psums", sums_, NamedFormatsFor(&Config::psum_format));
    PrintPlace("accumulations", accumulations_, NamedFormatsFor(&Config::accumulation_format));
    PrintPlace("vector unit", vectors_, NamedFormatsFor(&Config::vector_format));
  }

 private:
  using Counts = std::map<std::string, int>;

  static void PrintPlace(std::string_view place, const Counts& counts,
                         const std::vector<Format>& all) {
    std::vector<std::string> occurred, missing;
    for (const auto& [name, count] : counts) occurred.push_back(fmt::format("{} {}", name, count));
    for (const Format& format : all) {
      if (!counts.contains(format.name)) missing.push_back(format.name);
    }
    fmt::print("{}: {}; of the named ones not: {}\n", place, fmt::join(occurred, ", "),
               missing.empty() ? "none" : fmt::format("{}", fmt::join(missing, ", ")));
  }

  Counts inputs_, weights_, sums_, accumulations_, vectors_;
};

StatusOr<Format> FindVectorFormat(const std::string& name) {
  Config config;
  KILN_ASSIGN_OR_RETURN(config.vector_format, FindFormat(name));
  if (const auto fault = FindFormatFault(config))
    return UnsupportedAt("", fault->key, fault->fault, fault->remedy);
  return config.vector_format;
}

// Returns the formats of a design point as text.
std::string FormatsOf(const Config& c) {
  return fmt::format("{}x{} {}, psum {}{}, accumulation {}, vector {}{}", c.array_rows,
                     c.array_columns, DescribePrecisions(c), c.quire ? "quire of " : "",
                     c.psum_format.name, c.accumulation_format.name, c.vector_format.name,
                     c.block_size > 0
                         ? fmt::format(", blocks of {} {}", c.block_size, c.scale_format.name)
                     : c.shared_bus ? ", shared bus"
                                    : "");
}

// Runs a design point's programs; returns whether all of them agree.
bool RunDesignPoint(const Config& config, int programs, uint64_t first_seed) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto folder = TemporaryFolder::Create("kiln-random");
  Status status = folder.ok() ? EmitMachine(config, folder->path()) : folder.status();
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", std::string(status.message()));
    return false;
  }
  // Programs meet an ideal memory, a DRAM and a stalling one in turn.
  RtlOptions memories[3];
  memories[1].dram_bytes_per_cycle = 5.3;
  memories[1].dram_row_miss = 12;
  memories[1].memory_latency = 60;
  memories[2].stall_probability = 0.3;
  std::vector<Simulation> simulations;
  for (const RtlOptions& memory : memories) {
    auto built = Simulation::Build(folder->path(), memory);
    if (!built.ok()) {
      fmt::print(stderr, "{}: {}\n", FormatsOf(config), std::string(built.status().message()));
      return false;
    }
    simulations.push_back(*std::move(built));
  }
  const double built = seconds();
  std::vector<std::optional<std::string>> differences(static_cast<size_t>(programs));
  ParallelFor(programs, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const auto kind = static_cast<size_t>(i % 3);
      differences[static_cast<size_t>(i)] = FindRtlDisagreement(
          config, simulations[kind], first_seed + static_cast<uint64_t>(i), memories[kind]);
    }
  });
  for (size_t i = 0; i < differences.size(); ++i) {
    if (!differences[i].has_value()) continue;
    const uint64_t seed = first_seed + i;
    fmt::print(stderr, "{}\nprogram of seed {} on\n{}\n{}", *differences[i], seed,
               PrintConfig(config), ProgramOfSeed(seed, config).Text(config));
    return false;
  }
  fmt::print("{:<92} {:>6} programs agree   built in {:.0f} s, run in {:.0f} s\n",
             FormatsOf(config), programs, built, seconds() - built);
  std::fflush(stdout);
  return true;
}

int Main(int argc, char** argv) {
  CLI::App app("Random programs at the functional, cycle and rtl level");
  int points = 20, programs = 500;
  uint64_t seed = 1;
  app.add_option("--design-points", points, "Design points")->capture_default_str();
  app.add_option("--programs", programs, "Programs on each")->capture_default_str();
  app.add_option("--seed", seed, "Of the first design point")->capture_default_str();
  std::string vector_format_name;
  app.add_option("--vector-format", vector_format_name,
                 "Of all design points, in place of random ones");
  int largest_array = 8;
  app.add_option("--largest-array", largest_array, "Rows and columns at most")
      ->check(CLI::Range(2, 8))
      ->capture_default_str();
  uint64_t first_program = 0;
  app.add_option("--first-program", first_program, "Of each design point: to see one again")
      ->capture_default_str();
  std::string file;
  app.add_option("--on", file, "One design point from a YAML file in place of random ones");
  bool list = false;
  app.add_flag("--list", list, "Only list the design points");
  CLI11_PARSE(app, argc, argv);
  std::optional<Format> vector_format;
  if (!vector_format_name.empty()) {
    const auto found = FindVectorFormat(vector_format_name);
    if (!found.ok()) {
      fmt::print(stderr, "{}\n", std::string(found.status().message()));
      return 1;
    }
    vector_format = *found;
  }
  if (!file.empty()) {
    const auto text = ReadFile(file);
    const auto config = text.ok() ? ParseConfig(*text, file) : StatusOr<Config>(text.status());
    if (!config.ok()) fmt::print(stderr, "{}\n", std::string(config.status().message()));
    return config.ok() &&
                   RunDesignPoint(*config, programs, seed * kProgramsOfAPoint + first_program)
               ? 0
               : 1;
  }
  FormatCounts counts;
  for (int i = 0; i < points; ++i) {
    const uint64_t point = seed + static_cast<uint64_t>(i);
    const Config config = RandomDesignPoint(point, largest_array, vector_format);
    counts.Add(config);
    if (list) {
      fmt::print("{:>6}  {}\n", point, FormatsOf(config));
      continue;
    }
    if (!RunDesignPoint(config, programs, point * kProgramsOfAPoint + first_program)) return 1;
  }
  counts.Print();
  return 0;
}

}  // namespace
}  // namespace kiln::systolic

int main(int argc, char** argv) { return kiln::systolic::Main(argc, argv); }
