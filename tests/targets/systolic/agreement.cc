// Draws design points and programs, and compares what the levels do with them.
#include "tests/targets/systolic/agreement.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/numerics/mac.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config/user_unit.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "tests/targets/systolic/random_instruction.h"

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

// Returns the operand formats of a seed. With N operand formats, N consecutive design points use
// each format once for inputs, and N from a multiple of N on use each once for weights. Integers
// are mostly paired with integers, so that integer sums occur; pairs change from round to round.
OperandFormats OperandsInTurn(uint64_t seed) {
  static const std::vector<Format> inputs = [] {
    std::vector<Format> formats = NamedFormatsFor(&Config::input_format);
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
    std::vector<Format> formats = NamedFormatsFor(place);
    std::erase_if(formats,
                  [&](const Format& f) { return f.is_integer() != (config->*place).is_integer(); });
    config->*place = formats[seed / 2 % formats.size()];
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

// Runs a program at the functional and the cycle level. Sets the memory and the trace of the cycle
// level. Returns what differs; nullopt if nothing does.
std::optional<std::string> RunLevels(const Config& config, const RandomProgramCase& program,
                                     const RtlOptions& memory, std::vector<uint8_t>* cycle,
                                     Trace* trace) {
  *cycle = program.memory;
  auto run = RunInstructions(config, program.instructions, *cycle, memory, program.address);
  if (!run.ok()) return "cycle level: " + MessageOf(run.status());
  *trace = *std::move(run);
  std::vector<uint8_t> functional = program.memory;
  const auto machine =
      FunctionalMachine::Create(config, program.instructions, functional.size(), 0, {});
  if (!machine.ok()) return "functional level: " + MessageOf(machine.status());
  (*machine)->Run(0, program.instructions.size(), false, functional);
  if (functional == *cycle) return std::nullopt;
  return "functional and cycle level differ at " + FirstDifference(functional, *cycle);
}

}  // namespace

std::vector<Format> NamedFormatsFor(Format Config::* place) {
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

Config RandomDesignPoint(uint64_t seed, int largest_array,
                         const std::optional<Format>& vector_format) {
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

RandomProgramCase ProgramOfSeed(uint64_t seed, const Config& config) {
  Random random(seed);
  while (true) {
    RandomProgramCase program =
        RandomProgram(random, config, static_cast<int>(random.Between(1, 6)));
    if (program.address + program.Encoded(config).size() <= kMemory) return program;
  }
}

std::optional<std::string> FindDisagreement(const Config& config, uint64_t seed) {
  std::vector<uint8_t> cycle;
  Trace trace;
  return RunLevels(config, ProgramOfSeed(seed, config), {}, &cycle, &trace);
}

std::optional<std::string> FindRtlDisagreement(const Config& config, const Simulation& simulation,
                                               uint64_t seed, const RtlOptions& memory) {
  const RandomProgramCase program = ProgramOfSeed(seed, config);
  std::vector<uint8_t> cycle;
  Trace trace;
  if (auto difference = RunLevels(config, program, memory, &cycle, &trace)) return difference;
  std::vector<uint8_t> rtl = program.memory;
  const auto simulated =
      simulation.Run(program.Encoded(config), program.address, program.address, seed, rtl);
  if (!simulated.ok()) return "rtl level: " + MessageOf(simulated.status());
  if (rtl != cycle) return "rtl and cycle level differ at " + FirstDifference(rtl, cycle);
  if (memory.stall_probability > 0) return std::nullopt;
  std::vector<int64_t> ends;
  for (const KernelTrace& kernel : trace.kernels) ends.push_back(kernel.end);
  if (ends != simulated->finished) {
    return fmt::format("instructions end in cycles {} at the cycle level, {} in RTL",
                       fmt::join(ends, " "), fmt::join(simulated->finished, " "));
  }
  return std::nullopt;
}

}  // namespace kiln::systolic
