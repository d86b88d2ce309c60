// Defines the rows of the key table: type, range, unit, RTL parameters and help text of each key.
#include "kiln/targets/systolic/config/keys.h"

#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/rtl_spline.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/support/check.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/config/user_unit.h"

namespace kiln::systolic {
namespace {

using hardware::Boolean;
using hardware::Choice;
using hardware::Integer;
using hardware::KeyTable;
using hardware::KeyType;
using hardware::Limit;
using hardware::NumberFormat;
using hardware::NumberSet;
using hardware::PowerOfTwo;
using hardware::Real;
using hardware::Text;

constexpr int64_t kMaxWords = 1 << 20;
constexpr int64_t kMaxMemory = int64_t{1} << kAddressBits;  // what instructions can address
constexpr int64_t kMaxBlock = 4096;

KeyType<Config> PowerUpTo(int Config::* member, int64_t low, int64_t high) {
  return PowerOfTwo(member, low, high, fmt::format("a power of two from {} to {}", low, high));
}
KeyType<Config> PortWidth(int Config::* member) { return PowerUpTo(member, kLeastPort, kMostPort); }

void ReadPairs(const YamlMap& map, std::string_view key, Config* c) {
  for (const YamlMap& pair : map.Maps(key)) {
    pair.Require({"input", "weight"});
    OperandFormats formats;
    pair.Parsed("input", &formats.input, FindFormat);
    pair.Parsed("weight", &formats.weight, FindFormat);
    if (!formats.input.name.empty() && !formats.weight.name.empty())
      c->other_precisions.push_back(formats);
  }
}

KeyType<Config> FormatPairs() {
  return {.name = "list of pairs of formats",
          .values = fmt::format("`{{input: F, weight: F}}`, at most {}", kMostPrecisions - 1),
          .read =
              [](const YamlMap& map, std::string_view key, Config* c) {
                ReadPairs(map, key, c);
                return true;
              },
          .print =
              [](const Config& c) {
                std::string pairs;
                for (const OperandFormats& pair : c.other_precisions) {
                  pairs += fmt::format("\n  - {{input: {}, weight: {}}}", pair.input.name,
                                       pair.weight.name);
                }
                return pairs;
              },
          .rtl = nullptr};
}

void ReadUserUnit(const YamlMap& map, std::string_view key, Config* c) {
  if (!map.Has(key)) return;
  std::string name;
  map.String(key, &name);
  c->user_unit = FindUserUnit(name);
  if (c->user_unit != nullptr || name == "none") return;
  map.FailValue(key, fmt::format("there is no '{}'", name),
                fmt::format("{} or none", fmt::join(UserUnitNames(), ", ")));
}

KeyType<Config> UserUnitName() {
  return {.name = "choice",
          .values = fmt::format("none, {}", fmt::join(UserUnitNames(), ", ")),
          .read =
              [](const YamlMap& map, std::string_view key, Config* c) {
                ReadUserUnit(map, key, c);
                return true;
              },
          .print =
              [](const Config& c) {
                return std::string(c.user_unit == nullptr ? "none" : c.user_unit->name);
              },
          .rtl =
              [](const Config& c) {
                return std::to_string(c.user_unit == nullptr ? 0 : c.user_unit->number);
              }};
}

// Returns the RTL literal of one operand's formats in all precisions but the first.
std::string OtherFormats(const Config& c, Format OperandFormats::* operand) {
  std::vector<Format> formats;
  for (const OperandFormats& pair : c.other_precisions) formats.push_back(pair.*operand);
  return hardware::FormatsDescriptor(formats);
}

std::string PsumParameter(const Config& c) {
  return c.quire ? hardware::QuireDescriptor(c.input_format, c.weight_format)
                 : hardware::FormatDescriptor(c.psum_format);
}

// Without block scales, sums stay in the quire from the first row tile to the last.
std::string AccumulationParameter(const Config& c) {
  return c.quire && c.block_size == 0 ? hardware::QuireDescriptor(c.input_format, c.weight_format)
                                      : hardware::FormatDescriptor(c.accumulation_format);
}

// Returns the tables of the approximate functions: the name of a constant in the RTL's library, or
// the tables as a literal.
std::string SplinesOf(const Format& format) {
  for (const auto& [name, constant] :
       {std::pair{"fp32", "FP32"}, {"bf16", "BF16"}, {"fp16", "FP16"}}) {
    if (format.name == name) return fmt::format("kiln_spline_tables_pkg::{}", constant);
  }
  if (IsShortFloat(format)) return "kiln_spline_tables_pkg::FP32";  // not used
  const auto tables = SplineTablesFor(format);
  // ParseConfig accepts only signed floats with a zero as vector formats.
  KILN_CHECK(tables.ok());
  return hardware::SplineParameters(**tables);
}

}  // namespace

const KeyTable<Config>& Keys() {
  static const KeyTable<Config> table(
      "systolic",
      {
          {.name = "name",
           .type = Text(&Config::name),
           .required = true,
           .rtl = {},
           .help = "the name of the design point in reports"},
          {.name = "array_rows",
           .type = PowerUpTo(&Config::array_rows, 1, 256),
           .unit = "rows",
           .required = true,
           .rtl = {{"ARRAY_ROWS"}},
           .help = "rows of the array, which hold the reduction: input channels and kernel taps"},
          {.name = "array_columns",
           .type = PowerUpTo(&Config::array_columns, 1, 256),
           .unit = "columns",
           .required = true,
           .rtl = {{"ARRAY_COLUMNS"}},
           .help = "columns of the array, which hold the output channels; also the lanes of the "
                   "vector unit and of the depthwise unit"},
          {.name = "weight_rows_per_cycle",
           .type = Integer(&Config::weight_rows_per_cycle, 1, 256),
           .unit = "rows per cycle",
           .condition = "a divisor of `array_rows`",
           .rtl = {{"WEIGHT_ROWS_PER_CYCLE"}},
           .help = "rows of weights that are shifted into the array per cycle"},
          {.name = "input_format",
           .type = NumberFormat(&Config::input_format),
           .rtl = {{"INPUT_FORMAT"}},
           .help = "codes of the activations in the array"},
          {.name = "weight_format",
           .type = NumberFormat(&Config::weight_format),
           .rtl = {{"WEIGHT_FORMAT"}},
           .help = "codes of the weights"},
          {.name = "other_precisions",
           .type = FormatPairs(),
           .by_default = "none",
           .rtl = {{"PRECISIONS", [](const Config& c) { return std::to_string(c.precisions()); }},
                   {"OTHER_INPUT_FORMATS",
                    [](const Config& c) { return OtherFormats(c, &OperandFormats::input); }},
                   {"OTHER_WEIGHT_FORMATS",
                    [](const Config& c) { return OtherFormats(c, &OperandFormats::weight); }}},
           .help = "further pairs of operand formats, of which each layer may use one"},
          {.name = "integer_elements",
           .type = Boolean(&Config::integer_elements),
           .rtl = {{"INTEGER_ELEMENTS"}},
           .help =
               "the vector unit reads and writes integers of 8, 16 and 32 bits with zero points, "
               "not only codes of the array's formats"},
          {.name = "packed_weights",
           .type = Boolean(&Config::packed_weights),
           .rtl = {{"PACKED_WEIGHTS"}},
           .help = "constant weights of fewer than eight bits are packed in memory"},
          {.name = "product",
           .type = Choice(&Config::product_rounded, "exact", "rounded"),
           .rtl = {{"PRODUCT_ROUNDED"}},
           .help = "whether a product is rounded to `psum_format` before it is added"},
          {.name = "psum_format",
           .type = NumberFormat(&Config::psum_format),
           .condition = "default bf16 if an operand is not an integer",
           .rtl = {{"PSUM_FORMAT", PsumParameter}},
           .help = "the sum down the rows of the array"},
          {.name = "accumulation_format",
           .type = NumberFormat(&Config::accumulation_format),
           .condition = "default fp32 if `psum_format` is not an integer, and with block scales",
           .rtl = {{"ACCUMULATION_FORMAT", AccumulationParameter}},
           .help = "the accumulation buffer, in which row tiles are added"},
          {.name = "quire",
           .type = Boolean(&Config::quire),
           .shapes_other_rows = true,
           .rtl = {},
           .help = "exact sums, in a quire in place of `psum_format`"},
          {.name = "vector_format",
           .type = NumberFormat(&Config::vector_format),
           .condition = "a signed float that fp32 holds, round to nearest even",
           .rtl = {{"VECTOR_FORMAT"},
                   {"VECTOR_SPLINES", [](const Config& c) { return SplinesOf(c.vector_format); }}},
           .help =
               "results of the vector unit; a format wider than 16 bits is for studies of numbers, "
               "because its stages are not pipelined within and hold the clock below 10 MHz"},
          {.name = "block_size",
           .type = Integer(&Config::block_size, 0, kMaxBlock),
           .unit = "elements",
           .condition = "0: no block scales; else a multiple of `array_rows`",
           .rtl = {{"BLOCK_SIZE"}},
           .help = "elements along the reduction that share a block scale"},
          {.name = "scale_format",
           .type = NumberFormat(&Config::scale_format),
           .condition = "a float",
           .rtl = {{"SCALE_FORMAT"}},
           .help = "block scales"},
          {.name = "array_product_latency",
           .type = Integer(&Config::array_product_latency, 0, 1),
           .unit = "cycles",
           .condition = "default 1 if `psum_format` is not an integer",
           .rtl = {{"ARRAY_PRODUCT_LATENCY"}},
           .help = "registers between the multiplier and the adder of a processing element"},
          {.name = "array_sum_latency",
           .type = Integer(&Config::array_sum_latency, 1, 2),
           .unit = "cycles",
           .condition = "1 with integer or exact sums, else 2 by default",
           .rtl = {{"ARRAY_SUM_LATENCY"}},
           .help = "cycles of an addition in a processing element, and from one row of the array "
                   "to the next"},
          {.name = "accumulation_latency",
           .type = Integer(&Config::accumulation_latency, 1, 3),
           .unit = "cycles",
           .condition = "at most `array_rows` / `weight_rows_per_cycle`; 1 with integer or exact "
                        "accumulators, else 2 or 3 by default",
           .rtl = {{"ACCUMULATION_LATENCY"}},
           .help = "cycles of an addition to an accumulator"},
          {.name = "input_buffer_words",
           .type = Integer(&Config::input_buffer_words, 1, kMaxWords),
           .unit = "words of `array_rows` input codes",
           .rtl = {{"INPUT_BUFFER_WORDS"}},
           .help = "size of each of the two banks of the input buffer"},
          {.name = "weight_buffer_words",
           .type = Integer(&Config::weight_buffer_words, 1, kMaxWords),
           .unit = "words of `array_columns` weight codes",
           .condition = "at least `array_rows`",
           .rtl = {{"WEIGHT_BUFFER_WORDS"}},
           .help = "size of each of the two banks of the weight buffer"},
          {.name = "accumulation_buffer_words",
           .type = Integer(&Config::accumulation_buffer_words, 1, kMaxWords),
           .unit = "words of `array_columns` accumulators",
           .rtl = {{"ACCUMULATION_BUFFER_WORDS"}},
           .help = "size of each bank of the accumulation buffer"},
          {.name = "accumulation_buffer_banks",
           .type = Integer(&Config::accumulation_buffer_banks, 1, 2),
           .unit = "banks",
           .rtl = {{"ACCUMULATION_BUFFER_BANKS"}},
           .help = "banks of the accumulation buffer; with one bank the array waits while the "
                   "vector unit drains it"},
          {.name = "parameter_buffer_words",
           .type = Integer(&Config::parameter_buffer_words, 1, kMaxWords),
           .unit = "words of `array_columns` channel parameters",
           .rtl = {{"PARAMETER_BUFFER_WORDS"}},
           .help = "size of the buffer of channel parameters; a block of column tiles takes a word "
                   "each"},
          {.name = "vector_stages",
           .type = Integer(&Config::vector_stages, 1, kMostVectorStages),
           .unit = "stages",
           .rtl = {{"VECTOR_STAGES"}},
           .help = "programmable stages of the vector unit, in a row"},
          {.name = "vector_stage_latency",
           .type = Integer(&Config::vector_stage_latency, 1, 64),
           .unit = "cycles",
           .rtl = {{"VECTOR_STAGE_LATENCY"}},
           .help = "latency of each stage"},
          {.name = "vector_function_stages",
           .type = NumberSet(&Config::vector_function_stages, &Config::vector_stages, "stage"),
           .condition = "default all of fewer than three stages",
           .rtl = {{"VECTOR_FUNCTION_STAGES"}},
           .help = "stages with the approximate functions"},
          {.name = "vector_divide_stages",
           .type = NumberSet(&Config::vector_divide_stages, &Config::vector_stages, "stage"),
           .condition = "default all of fewer than three stages",
           .rtl = {{"VECTOR_DIVIDE_STAGES"}},
           .help = "stages with a divider"},
          {.name = "vector_function_latency",
           .type = Integer(&Config::vector_function_latency, 0, 64),
           .unit = "cycles",
           .condition = "in a short float format functions take 6 cycles in all, 5 if "
                        "`vector_stage_latency` is below 3; default what they need",
           .rtl = {{"VECTOR_FUNCTION_LATENCY"}},
           .help = "further latency of a stage with functions or a divider"},
          {.name = "vector_convert_latency",
           .type = Integer(&Config::vector_convert_latency, 0, 64),
           .unit = "cycles",
           .condition = "default 3 in a short float format",
           .rtl = {{"VECTOR_CONVERT_LATENCY"}},
           .help = "further latency in front of the stages, where elements and accumulators become "
                   "numbers, and as much behind them, where numbers become elements"},
          {.name = "vector_row_buffer_words",
           .type = Integer(&Config::vector_row_buffer_words, 1, kMaxWords),
           .unit = "words of `array_columns` numbers",
           .rtl = {{"VECTOR_ROW_BUFFER_WORDS"}},
           .help = "size of the buffer that keeps rows on chip between two passes of soft-max, "
                   "normalisation and the like"},
          {.name = "vector_rows_in_flight",
           .type = Integer(&Config::vector_rows_in_flight, 1, 1024),
           .unit = "rows",
           .rtl = {{"VECTOR_ROWS_IN_FLIGHT"}},
           .help = "rows that make a pass together, which hides the latency of each"},
          {.name = "operand_buffer_words",
           .type = Integer(&Config::operand_buffer_words, kLeastOperandBuffer, kMostOperandBuffer),
           .unit = "words of `array_columns` numbers",
           .condition = "with `vector_convert_latency` and `vector_stage_latency` at most 256",
           .rtl = {{"OPERAND_BUFFER_WORDS"}},
           .help = "words that can wait for their operands from memory"},
          {.name = "depthwise_multipliers",
           .type = Integer(&Config::depthwise_multipliers, 0, 256),
           .unit = "multipliers per lane",
           .condition = "0: no depthwise unit",
           .rtl = {{"DEPTHWISE_MULTIPLIERS"}},
           .help = "multipliers of the depthwise unit; a kernel of t taps takes t / multipliers "
                   "cycles per word, rounded up"},
          {.name = "depthwise_buffer_words",
           .type = Integer(&Config::depthwise_buffer_words, 1, kMaxWords),
           .unit = "words of `array_columns` input codes",
           .rtl = {{"DEPTHWISE_BUFFER_WORDS"}},
           .help = "size of each of the two banks of the depthwise unit's buffer"},
          {.name = "depthwise_sum_latency",
           .type = Integer(&Config::depthwise_sum_latency, 1, 2),
           .unit = "cycles",
           .condition = "1 with integer or exact sums, else 2 by default",
           .rtl = {{"DEPTHWISE_SUM_LATENCY"}},
           .help = "cycles of an addition in the depthwise unit, and with rounded sums from one "
                   "step of an output word to the next"},
          {.name = "user_unit",
           .type = UserUnitName(),
           .rtl = {{"USER_UNIT"}},
           .help = "a unit of the user's own beside the depthwise unit, whose buffers it shares"},
          {.name = "depthwise_words_per_cycle",
           .type = PowerUpTo(&Config::depthwise_words_per_cycle, 1, kMostDepthwiseWords),
           .unit = "words per beat",
           .condition = "more than one must fit the input port",
           .rtl = {{"DEPTHWISE_WORDS_PER_CYCLE"}},
           .help = "neighbouring words that a beat of the input port brings into the depthwise "
                   "unit's buffer at most"},
          {.name = "input_port_bytes",
           .type = PortWidth(&Config::input_port_bytes),
           .unit = "bytes per cycle",
           .rtl = {{"INPUT_PORT_BYTES"}},
           .help = "width of the AXI4 data bus for inputs"},
          {.name = "weight_port_bytes",
           .type = PortWidth(&Config::weight_port_bytes),
           .unit = "bytes per cycle",
           .rtl = {{"WEIGHT_PORT_BYTES"}},
           .help = "width of the AXI4 data bus for weights"},
          {.name = "operand_port_bytes",
           .type = PortWidth(&Config::operand_port_bytes),
           .unit = "bytes per cycle",
           .rtl = {{"OPERAND_PORT_BYTES"}},
           .help = "width of the AXI4 data bus for operands and parameters of the vector unit"},
          {.name = "output_port_bytes",
           .type = PortWidth(&Config::output_port_bytes),
           .unit = "bytes per cycle",
           .rtl = {{"OUTPUT_PORT_BYTES"}},
           .help = "width of the AXI4 data bus for results"},
          {.name = "shared_bus",
           .type = Boolean(&Config::shared_bus),
           .condition = "true requires ports of one width and `block_size: 0`",
           .rtl = {{"SHARED_BUS"}},
           .help = "all ports on one AXI4 bus"},
          {.name = "memory_latency",
           .type = Integer(
               &Config::memory_latency,
               Limit<Config>(kLeastMemoryLatency,
                             [](const Config& c) { return c.port_latency() + kLeastAnswer; }),
               4096),
           .unit = "cycles",
           .condition = "from 5 with `shared_bus`",
           .rtl = {{"MEMORY_LATENCY"}},
           .help = "from a request to its first data, including two cycles of the port (three with "
                   "`shared_bus`)"},
          {.name = "memory_bytes",
           .type = Integer(&Config::memory_bytes, 4096, kMaxMemory),
           .unit = "bytes",
           .rtl = {{"MEMORY_BYTES",
                    [](const Config& c) { return fmt::format("64'd{}", c.memory_bytes); }}},
           .help = "size of the address space of programs"},
          {.name = "instruction_bytes_per_cycle",
           .type = PortWidth(&Config::instruction_bytes_per_cycle),
           .unit = "bytes per cycle",
           .rtl = {{"INSTRUCTION_BYTES_PER_CYCLE"}},
           .help = "width of the AXI4 data bus for the program; at most one word of 16 bytes is "
                   "decoded per cycle"},
          {.name = "command_queue_depth",
           .type = Integer(&Config::command_queue_depth, 1, 32),
           .unit = "instructions",
           .rtl = {{"COMMAND_QUEUE_DEPTH"}},
           .help = "depth of the instruction queue in front of each unit"},
          {.name = "clock_mhz",
           .type = Real(&Config::clock_mhz, 0.001, 100000),
           .unit = "MHz",
           .rtl = {},
           .help = "turns cycles into seconds; nothing else depends on it"},
      });
  return table;
}

}  // namespace kiln::systolic
