// Runs random programs on random systolic design points at three levels: functional, cycle, and the
// emitted RTL in Verilator. Compares all bits of the memory, and the cycle in which every
// instruction finishes. Formats take turns; at the end the program prints how often each occurred.
//
//   random_programs [--design-points 20] [--programs 500] [--seed 1]
//                                       exit code 1 at the first difference
//   random_programs --largest-array 4   arrays of at most this many rows and columns
//   random_programs --vector-format fp16.saturate
//                                       only design points with that vector format
//   random_programs --list              prints the design points by seed
//   random_programs --on FILE --seed 7 --first-program 310 --programs 1
//                                       one program again, on design point 7 as YAML
//
// A design point is emitted and built once (about a minute of processor time) and then runs its
// programs, one process each. Every third design point has a memory that stalls at random; cycles
// are not compared there. A difference is reported with the design point, the seeds and the
// program, which make a test.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/mac.h"
#include "kiln/support/file.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/support/process.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "kiln/targets/systolic/simulate/rtl/simulation.h"
#include "tests/targets/systolic/random_instruction.h"
#include "tests/targets/systolic/random_program.h"

namespace kiln::systolic {
namespace {

// Stages of the vector unit: each makes models larger, and all are alike.
constexpr int kStages = 4;
constexpr int64_t kMemory = 1 << 20;  // bytes
// Seeds of separate generators: settings added to design points later must not change the others.
constexpr uint64_t kOthers = 0x57a6e5;
constexpr uint64_t kOfFormats = 0xf0a3a7;
// Attempts at the rest of a design point before its weights take another format.
constexpr int kTries = 100;
constexpr uint64_t kProgramsOfAPoint = 1'000'000;  // distance of the design points' program seeds

// Makes all ports share one bus of a random width; the latency must cover the bus.
void ShareBus(Random& random, Config* config) {
  config->shared_bus = true;
  const int width = kLeastPort << random.Below(4);
  for (int* bytes :
       {&config->input_port_bytes, &config->weight_port_bytes, &config->operand_port_bytes,
        &config->output_port_bytes, &config->instruction_bytes_per_cycle}) {
    *bytes = width;
  }
  while (config->depthwise_words_per_cycle > 1 &&
         config->depthwise_words_per_cycle * config->depthwise_word_bytes() > width) {
    config->depthwise_words_per_cycle /= 2;
  }
  config->memory_latency = std::max(config->memory_latency, config->port_latency() + kLeastAnswer);
}

// Returns the named formats that a design point can have in the field `place`, with defaults
// elsewhere.
std::vector<Format> FormatsFor(Format Config::* place) {
  std::vector<Format> formats;
  for (const Format& format : AllFormats()) {
    Config config;
    config.*place = format;
    SetDefaultSums(&config);
    config.*place = format;
    if (place == &Config::psum_format && !format.is_integer())
      config.accumulation_format = *FindFormat("fp32");
    if (place == &Config::accumulation_format && !format.is_integer())
      config.psum_format = *FindFormat("bf16");
    if (!FindFormatFault(config).has_value()) formats.push_back(format);
  }
  return formats;
}

// Returns the operand formats of a seed. With N operand formats, N consecutive design points use
// each format once for inputs, and N from a multiple of N on use each once for weights. Integers
// are mostly paired with integers, so that integer sums occur; pairs change from round to round.
OperandFormats OperandsInTurn(uint64_t seed) {
  static const std::vector<Format> inputs = [] {
    std::vector<Format> formats = FormatsFor(&Config::input_format);
    std::ranges::sort(formats, std::greater(), IsIntegerOperand);
    return formats;
  }();
  const auto integers = std::count_if(inputs.begin(), inputs.end(), IsIntegerOperand);
  std::vector<Format> weights = inputs;
  Random random(seed / inputs.size() ^ kOfFormats);
  std::shuffle(weights.begin(), weights.begin() + integers, random);
  std::shuffle(weights.begin() + integers, weights.end(), random);
  for (auto i = weights.begin(); i < weights.begin() + integers; i += 3) std::swap(*i, i[integers]);
  const size_t at = seed % inputs.size();
  return {inputs[at], weights[at]};
}

// Sets the formats of sums (integers stay integers) and of the vector unit, in turn.
void TakeSumsInTurn(uint64_t seed, Config* config) {
  for (Format Config::* place :
       {&Config::psum_format, &Config::accumulation_format, &Config::vector_format}) {
    std::vector<Format> formats = FormatsFor(place);
    std::erase_if(formats,
                  [&](const Format& f) { return f.is_integer() != (config->*place).is_integer(); });
    config->*place = formats[seed / 2 % formats.size()];
  }
}

// Returns a design point that a YAML file could describe and the RTL implements, in `vector_format`
// if given.
Config DesignPoint(uint64_t seed, int largest_array, const std::optional<Format>& vector_format) {
  Random random(seed);
  const OperandFormats operands = OperandsInTurn(seed);
  for (int tried = 0;; ++tried) {
    Config config = RandomConfig(random);
    RandomFormats(random, &config);
    config.input_format = operands.input;
    if (tried < kTries) config.weight_format = operands.weight;
    RandomSums(random, &config);
    // Half of the design points take formats in turn; for the others, common ones are likelier.
    if (seed % 2 == 0) TakeSumsInTurn(seed, &config);
    if (vector_format.has_value()) config.vector_format = *vector_format;
    config.name = fmt::format("random_{}", seed);
    config.vector_stages = kStages;
    config.memory_bytes = kMemory;
    // A separate generator, so that older settings of a seed stay the same.
    Random others(seed ^ kOthers);
    for (uint32_t* stages : {&config.vector_function_stages, &config.vector_divide_stages}) {
      *stages = others.Uniform() < 0.5
                    ? kEveryStage
                    : static_cast<uint32_t>(others.Below(uint64_t{1} << kStages));
    }
    if (config.block_size == 0 && others.Uniform() < 0.4) ShareBus(others, &config);
    if (others.Uniform() < 0.5) config.user_unit = FindUserUnit("maximum");
    if (FindUserUnitFault(config).has_value()) config.user_unit = nullptr;
    if (!IsPowerOfTwo(config.array_rows) || !IsPowerOfTwo(config.array_columns)) continue;
    if (std::max(config.array_rows, config.array_columns) > largest_array) continue;
    if (FindFormatFault(config).has_value() || FindRtlFault(config).has_value()) continue;
    return config;
  }
}

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
    PrintPlace("inputs", inputs_, FormatsFor(&Config::input_format));
    PrintPlace("weights", weights_, FormatsFor(&Config::weight_format));
    PrintPlace("psums", sums_, FormatsFor(&Config::psum_format));
    PrintPlace("accumulations", accumulations_, FormatsFor(&Config::accumulation_format));
    PrintPlace("vector unit", vectors_, FormatsFor(&Config::vector_format));
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

// Returns the random program of a seed.
RandomProgramCase ProgramOf(uint64_t seed, const Config& config) {
  Random random(seed);
  while (true) {
    RandomProgramCase program =
        RandomProgram(random, config, static_cast<int>(random.Between(1, 6)));
    if (program.address + program.Encoded(config).size() <= kMemory) return program;
  }
}

// Returns the first difference of two memories, up to four bytes: "byte 100: 00 01 02 03, 00 01 02
// 04".
std::string FirstDifference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  const auto at =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  const size_t count = std::min<size_t>(4, a.size() - at);
  return fmt::format("byte {}: {:02x}, {:02x}", at, fmt::join(std::span(a).subspan(at, count), " "),
                     fmt::join(std::span(b).subspan(at, count), " "));
}

// Returns a description of the difference between the levels; nullopt if they agree.
std::optional<std::string> Difference(const Config& config, const Simulation& simulation,
                                      uint64_t seed, bool timed) {
  const RandomProgramCase program = ProgramOf(seed, config);

  std::vector<uint8_t> cycle = program.memory;
  const auto trace = RunInstructions(config, program.instructions, cycle);
  if (!trace.ok()) return "cycle level: " + std::string(trace.status().message());

  std::vector<uint8_t> functional = program.memory;
  const auto machine =
      FunctionalMachine::Create(config, program.instructions, functional.size(), 0, {});
  if (!machine.ok()) return "functional level: " + std::string(machine.status().message());
  (*machine)->Run(0, program.instructions.size(), false, functional);
  if (functional != cycle) {
    return "functional and cycle level differ at " + FirstDifference(functional, cycle);
  }

  std::vector<uint8_t> rtl = program.memory;
  const auto simulated =
      simulation.Run(program.Encoded(config), program.address, program.address, seed, rtl);
  if (!simulated.ok()) return "rtl level: " + std::string(simulated.status().message());
  if (rtl != cycle) return "rtl and cycle level differ at " + FirstDifference(rtl, cycle);
  if (!timed) return std::nullopt;
  std::vector<int64_t> ends;
  for (const KernelTrace& kernel : trace->kernels) ends.push_back(kernel.end);
  if (ends != simulated->finished) {
    return fmt::format("instructions end in cycles {} at the cycle level, {} in RTL",
                       fmt::join(ends, " "), fmt::join(simulated->finished, " "));
  }
  return std::nullopt;
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
  RtlOptions stalling;
  stalling.stall_probability = 0.3;
  const auto ideal = Simulation::Build(folder->path(), {});
  const auto stalled = Simulation::Build(folder->path(), stalling);
  for (const auto* built : {&ideal, &stalled}) {
    if (built->ok()) continue;
    fmt::print(stderr, "{}: {}\n", FormatsOf(config), std::string(built->status().message()));
    return false;
  }
  const double built = seconds();
  std::vector<std::optional<std::string>> differences(static_cast<size_t>(programs));
  ParallelFor(programs, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const bool timed = i % 3 != 2;
      differences[static_cast<size_t>(i)] = Difference(
          config, timed ? *ideal : *stalled, first_seed + static_cast<uint64_t>(i), timed);
    }
  });
  for (size_t i = 0; i < differences.size(); ++i) {
    if (!differences[i].has_value()) continue;
    const uint64_t seed = first_seed + i;
    fmt::print(stderr, "{}\nprogram of seed {} on\n{}\n{}", *differences[i], seed,
               PrintConfig(config), ProgramOf(seed, config).Text(config));
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
    const Config config = DesignPoint(point, largest_array, vector_format);
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
