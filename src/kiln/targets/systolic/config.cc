#include "kiln/targets/systolic/config.h"

#include <bit>

#include "fmt/format.h"
#include "kiln/support/yaml.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kMaxWords = 1 << 20;
constexpr int64_t kMaxMemory = int64_t{1} << 40;

bool IsPowerOfTwo(int64_t value) { return std::has_single_bit(static_cast<uint64_t>(value)); }

// The array multiplies signed bytes and the vector unit computes in binary32; other formats are refused by name.
void ReadFormat(const YamlMap& root, std::string_view key, Format* format, std::string_view only) {
  root.Parsed(key, format, FindFormat);
  if (root.Has(key) && format->name != only) {
    root.Fail(key, fmt::format("'{}' is not a format of this unit", format->name), fmt::format("use {}", only));
  }
}

}  // namespace

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(yaml, source));
  const YamlMap root = file.root();
  Config c;
  root.Require({"family", "name", "array_rows", "array_columns"});
  std::string family = "systolic";
  root.String("family", &family);
  if (family != "systolic") root.Fail("family", fmt::format("'{}' is not systolic", family), "family: systolic");
  root.String("name", &c.name);

  root.Int("array_rows", &c.array_rows, 1, 256);
  root.Int("array_columns", &c.array_columns, 1, 256);
  for (std::string_view key : {"array_rows", "array_columns"}) {
    const int value = key == "array_rows" ? c.array_rows : c.array_columns;
    if (!IsPowerOfTwo(value))
      root.Fail(key, fmt::format("{} is not a power of two", value), "a power of two up to 256");
  }
  root.Int("weight_rows_per_cycle", &c.weight_rows_per_cycle, 1, 256);
  if (c.array_rows % c.weight_rows_per_cycle != 0) {
    root.Fail("weight_rows_per_cycle",
              fmt::format("{} does not divide array_rows {}", c.weight_rows_per_cycle, c.array_rows),
              "a divisor of array_rows");
  }

  ReadFormat(root, "input_format", &c.input_format, "int8");
  ReadFormat(root, "weight_format", &c.weight_format, "int8");
  root.Int("accumulator_bits", &c.accumulator_bits, 16, 32);
  ReadFormat(root, "vector_format", &c.vector_format, "fp32");

  root.Int("input_buffer_words", &c.input_buffer_words, 1, kMaxWords);
  root.Int("weight_buffer_words", &c.weight_buffer_words, 1, kMaxWords);
  if (c.weight_buffer_words < c.array_rows) {
    root.Fail("weight_buffer_words",
              fmt::format("{} words do not hold one weight tile of {} rows", c.weight_buffer_words, c.array_rows),
              "at least array_rows");
  }
  root.Int("accumulation_buffer_words", &c.accumulation_buffer_words, 1, kMaxWords);
  root.Int("accumulation_buffer_banks", &c.accumulation_buffer_banks, 1, 2);

  root.Int("vector_stages", &c.vector_stages, 1, 12);
  root.Int("vector_stage_latency", &c.vector_stage_latency, 1, 64);
  root.Int("vector_row_buffer_words", &c.vector_row_buffer_words, 1, kMaxWords);
  root.Int("vector_rows_in_flight", &c.vector_rows_in_flight, 1, 1024);
  root.Int("depthwise_multipliers", &c.depthwise_multipliers, 0, 256);
  root.Int("depthwise_buffer_words", &c.depthwise_buffer_words, 1, kMaxWords);

  root.Int("input_port_bytes", &c.input_port_bytes, 1, 4096);
  root.Int("weight_port_bytes", &c.weight_port_bytes, 1, 4096);
  root.Int("operand_port_bytes", &c.operand_port_bytes, 1, 4096);
  root.Int("output_port_bytes", &c.output_port_bytes, 1, 4096);
  for (const auto& [key, value] : {std::pair<std::string_view, int>{"input_port_bytes", c.input_port_bytes},
                                   {"weight_port_bytes", c.weight_port_bytes},
                                   {"operand_port_bytes", c.operand_port_bytes},
                                   {"output_port_bytes", c.output_port_bytes}}) {
    if (!IsPowerOfTwo(value))
      root.Fail(key, fmt::format("{} is not a power of two", value), "a power of two up to 4096");
  }
  root.Int("memory_latency", &c.memory_latency, 1, 4096);
  root.Int("memory_bytes", &c.memory_bytes, 4096, kMaxMemory);

  root.Int("instruction_bytes_per_cycle", &c.instruction_bytes_per_cycle, 1, 1024);
  root.Int("command_queue_depth", &c.command_queue_depth, 1, 1024);
  root.Double("clock_mhz", &c.clock_mhz, 0.001, 100000);
  KILN_RETURN_IF_ERROR(file.Finish());
  return c;
}

std::string PrintConfig(const Config& c) {
  std::string out = "family: systolic\n";
  const auto add = [&](std::string_view key, const auto& value) { out += fmt::format("{}: {}\n", key, value); };
  // Quoted, so that a name like 16 or true reads back as text.
  std::string quoted;
  for (char letter : c.name) quoted += letter == '\'' ? std::string("''") : std::string(1, letter);
  add("name", "'" + quoted + "'");
  add("array_rows", c.array_rows);
  add("array_columns", c.array_columns);
  add("weight_rows_per_cycle", c.weight_rows_per_cycle);
  add("input_format", c.input_format.name);
  add("weight_format", c.weight_format.name);
  add("accumulator_bits", c.accumulator_bits);
  add("vector_format", c.vector_format.name);
  add("input_buffer_words", c.input_buffer_words);
  add("weight_buffer_words", c.weight_buffer_words);
  add("accumulation_buffer_words", c.accumulation_buffer_words);
  add("accumulation_buffer_banks", c.accumulation_buffer_banks);
  add("vector_stages", c.vector_stages);
  add("vector_stage_latency", c.vector_stage_latency);
  add("vector_row_buffer_words", c.vector_row_buffer_words);
  add("vector_rows_in_flight", c.vector_rows_in_flight);
  add("depthwise_multipliers", c.depthwise_multipliers);
  add("depthwise_buffer_words", c.depthwise_buffer_words);
  add("input_port_bytes", c.input_port_bytes);
  add("weight_port_bytes", c.weight_port_bytes);
  add("operand_port_bytes", c.operand_port_bytes);
  add("output_port_bytes", c.output_port_bytes);
  add("memory_latency", c.memory_latency);
  add("memory_bytes", c.memory_bytes);
  add("instruction_bytes_per_cycle", c.instruction_bytes_per_cycle);
  add("command_queue_depth", c.command_queue_depth);
  add("clock_mhz", c.clock_mhz);
  return out;
}

}  // namespace kiln::systolic
