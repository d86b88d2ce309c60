#include "kiln/targets/systolic/config.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/quire.h"
#include "kiln/support/integer.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/systolic/numbers.h"
#include "kiln/targets/systolic/user_unit.h"

namespace kiln::systolic {
namespace {

constexpr int64_t kMaxWords = 1 << 20;
constexpr int64_t kMaxMemory = int64_t{1} << 40;
constexpr int64_t kMaxBlock = 4096;

// Formats without a place for random bits: nothing in this machine draws any.
bool IsStochastic(const Format& format) { return format.rounding == Rounding::kStochastic; }

std::optional<FormatFault> OperandFault(std::string key, const Format& format) {
  const auto fault = [&](std::string what, std::string remedy) {
    return FormatFault{std::move(key), fmt::format("'{}' {}", format.name, what),
                       std::move(remedy)};
  };
  if (IsStochastic(format)) return fault("rounds at random", "a format of another rounding");
  if (!FitsFp32(format)) return fault("has values that fp32 does not hold", "a narrower format");
  if (format.is_integer() && format.bits > 16)
    return fault("is wider than the array's multipliers", "at most 16 bits");
  if (format.is_integer() && !format.is_signed && format.bits > 15)
    return fault("is unsigned", "at most 15 bits");
  if (format.is_whole() && !format.is_signed) {
    return fault("is unsigned",
                 fmt::format("int{}: unsigned codes are held less half their range", format.bits));
  }
  return std::nullopt;
}

// Of psum and accumulation.
std::optional<FormatFault> SumFault(std::string key, const Format& format) {
  const auto fault = [&](std::string what, std::string remedy) {
    return FormatFault{std::move(key), fmt::format("'{}' {}", format.name, what),
                       std::move(remedy)};
  };
  if (format.is_integer()) {
    if (!format.is_whole() || !format.is_signed || format.narrow ||
        format.name != fmt::format("int{}", format.bits)) {
      return fault("is no integer that sums wrap in", "int16 to int32");
    }
    if (format.bits < 8) return fault("is too narrow for a sum", "int8 to int32");
    return std::nullopt;
  }
  if (format.kind == FormatKind::kCodebook || !format.is_signed || !HasZero(format) ||
      IsStochastic(format)) {
    return fault("is no format for sums", "an integer, a signed float or a posit");
  }
  if (!FitsFp32(format)) return fault("has values that fp32 does not hold", "a narrower format");
  return std::nullopt;
}

std::optional<FormatFault> ScaleFault(const Config& c) {
  if (c.block_size == 0) return std::nullopt;
  const auto fault = [](std::string key, std::string what, std::string remedy) {
    return FormatFault{std::move(key), std::move(what), std::move(remedy)};
  };
  if (c.block_size % c.array_rows != 0) {
    return fault("block_size",
                 fmt::format("{} is no multiple of array_rows {}", c.block_size, c.array_rows),
                 "a row tile must lie inside one block");
  }
  if (c.block_size % c.array_columns != 0 && c.array_columns % c.block_size != 0) {
    return fault("block_size",
                 fmt::format("{} and array_columns {} do not divide each other", c.block_size,
                             c.array_columns),
                 "a word of the vector unit must hold whole blocks or lie inside one");
  }
  if (c.scale_format.kind != FormatKind::kFloat || !FitsFp32(c.scale_format) ||
      IsStochastic(c.scale_format)) {
    return fault("scale_format", fmt::format("'{}' is no format for scales", c.scale_format.name),
                 "e8m0, ue5m3 or another float");
  }
  return std::nullopt;
}

// Of one of the other precisions, whose operands have the faults of the first pair's and must share its sums and its
// places in memory.
std::optional<FormatFault> PrecisionFault(const Config& c, int precision) {
  const Format &input = c.input_format_of(precision), &weight = c.weight_format_of(precision);
  const auto fault = [&](std::string_view what, std::string remedy) {
    return FormatFault{"other_precisions",
                       fmt::format("{} x {}: {}", input.name, weight.name, what),
                       std::move(remedy)};
  };
  for (const auto& [side, format] :
       {std::pair<std::string, const Format*>{"input", &input}, {"weight", &weight}}) {
    if (const auto of_operand = OperandFault(side, *format))
      return fault(of_operand->fault, of_operand->remedy);
  }
  for (int p = 0; p < precision; ++p) {
    if (c.input_format_of(p) == input && c.weight_format_of(p) == weight) {
      return fault("this pair stands there twice", "each pair once");
    }
  }
  for (const auto& [own, first] :
       {std::pair{&input, &c.input_format}, {&weight, &c.weight_format}}) {
    if (own->bytes() == first->bytes()) continue;
    return fault(fmt::format("codes of {} take {} bytes, those of {} {}", own->name, own->bytes(),
                             first->name, first->bytes()),
                 "formats whose codes take as many bytes: fetches count by them");
  }
  if (c.quire) return fault("exact sums have the width of one pair's products", "quire: false");
  if (const auto of_sums = FindMacFault(RuleOf(AtPrecision(c, precision), /*scaled=*/false))) {
    return fault(fmt::format("{}, and all pairs have one {}", of_sums->fault, of_sums->key),
                 of_sums->remedy);
  }
  return std::nullopt;
}

}  // namespace

std::vector<int64_t> NumbersOf(uint32_t stages) {
  std::vector<int64_t> numbers;
  for (int64_t stage = 0; stage < 32; ++stage) {
    if (stages >> stage & 1) numbers.push_back(stage);
  }
  return numbers;
}

Config AtPrecision(const Config& config, int precision) {
  Config c = config;
  c.input_format = config.input_format_of(precision);
  c.weight_format = config.weight_format_of(precision);
  c.other_precisions.clear();
  if (precision > 0) c.block_size = 0;
  return c;
}

std::string DescribePrecisions(const Config& config) {
  std::string text;
  for (int p = 0; p < config.precisions(); ++p) {
    text += fmt::format("{}{} x {}", p > 0 ? ", " : "", config.input_format_of(p).name,
                        config.weight_format_of(p).name);
  }
  return text;
}

int Config::input_bits() const {
  int bits = input_format.bits;
  for (const OperandFormats& pair : other_precisions) bits = std::max(bits, pair.input.bits);
  return bits;
}

int Config::weight_bits() const {
  int bits = weight_format.bits;
  for (const OperandFormats& pair : other_precisions) bits = std::max(bits, pair.weight.bits);
  return bits;
}

int64_t Config::accumulator_bits() const {
  return quire ? ExactProductsOf(input_format, weight_format).sum_bits() : accumulation_format.bits;
}

float UnitOf(const Format& operand, const Config& config) {
  const bool counts_codes = config.psum_format.is_integer() && operand.is_integer();
  return counts_codes ? std::ldexp(1.0f, -operand.fraction_bits) : 1.0f;
}

void SetDefaultSums(Config* config) {
  bool whole = true;
  for (int p = 0; p < config->precisions(); ++p) {
    whole = whole && IsIntegerOperand(config->input_format_of(p)) &&
            IsIntegerOperand(config->weight_format_of(p));
  }
  config->psum_format = *FindFormat(whole ? "int32" : "bf16");
  config->accumulation_format = *FindFormat(whole && config->block_size == 0 ? "int32" : "fp32");
}

std::optional<FormatFault> FindFormatFault(const Config& c) {
  if (auto fault = OperandFault("input_format", c.input_format)) return fault;
  if (auto fault = OperandFault("weight_format", c.weight_format)) return fault;
  if (auto fault = SumFault("psum_format", c.psum_format)) return fault;
  if (auto fault = SumFault("accumulation_format", c.accumulation_format)) return fault;
  if (const auto fault = FindMacFault(RuleOf(c, /*scaled=*/c.block_size > 0))) {
    return FormatFault{fault->key, fault->fault, fault->remedy};
  }
  if (c.precisions() > kMostPrecisions) {
    return FormatFault{"other_precisions",
                       fmt::format("{} pairs beside the first", c.other_precisions.size()),
                       fmt::format("at most {}", kMostPrecisions - 1)};
  }
  for (int p = 1; p < c.precisions(); ++p) {
    if (auto fault = PrecisionFault(c, p)) return fault;
  }
  if (c.product_rounded && (c.psum_format.is_integer() || c.quire)) {
    return FormatFault{
        "product", fmt::format("'rounded' before {}", c.quire ? "exact sums" : "an integer psum"),
        "product: exact"};
  }
  const Format& v = c.vector_format;
  if (v.kind != FormatKind::kFloat || !v.is_signed || !HasZero(v) || !FitsFp32(v) ||
      v.rounding != Rounding::kNearestEven) {
    return FormatFault{"vector_format",
                       fmt::format("'{}' is no format for the vector unit", v.name),
                       "fp32, bf16, fp16 or another signed float that fp32 holds, nearest even"};
  }
  return ScaleFault(c);
}

bool SumsSignedBytes(const Config& c) {
  const auto is_int8 = [](const Format& f) { return f.is_integer() && f.is_signed && f.bits <= 8; };
  return is_int8(c.input_format) && is_int8(c.weight_format) &&
         c.accumulation_format.is_integer() && c.accumulation_format.bits <= c.psum_format.bits;
}

std::optional<FormatFault> FindUserUnitFault(const Config& c) {
  if (c.user_unit == nullptr) return std::nullopt;
  if (c.depthwise_multipliers == 0) {
    return FormatFault{"user_unit", "it stands in the depthwise unit's place, and there is none",
                       "depthwise_multipliers above 0"};
  }
  if (!SumsSignedBytes(c) || c.block_size > 0) {
    return FormatFault{"user_unit", "it takes signed integers of up to 8 bits and gives integers",
                       "int8 formats, integer sums, no block_size, or user_unit: none"};
  }
  return std::nullopt;
}

bool DepthwiseWordsFit(const Config& c) {
  return c.depthwise_words_per_cycle <= 1 ||
         c.depthwise_words_per_cycle * c.depthwise_word_bytes() <= c.input_port_bytes;
}

bool Config::narrow_vector() const {
  const Format& v = vector_format;
  return v.exponent_bits < 8 || v.fraction_bits < 23 || v.specials != Specials::kIeee ||
         v.low_exponent != LowExponent::kSubnormal || v.overflow != Overflow::kInfinity;
}

namespace {

// A list of stages as a set; every one where the key is absent.
uint32_t ReadStages(const YamlMap& root, std::string_view key, const Config& config) {
  if (!root.Has(key)) return config.present_stages(kEveryStage);
  std::vector<int64_t> numbers;
  root.Ints(key, &numbers, 0, config.vector_stages - 1);
  uint32_t stages = 0;
  for (const int64_t number : numbers) {
    if (stages >> number & 1)
      root.Fail(key, fmt::format("stage {} stands there twice", number), "each stage once");
    stages |= uint32_t{1} << number;
  }
  return stages;
}

}  // namespace

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(yaml, source));
  const YamlMap root = file.root();
  Config c;
  root.Require({"family", "name", "array_rows", "array_columns"});
  std::string family = "systolic";
  root.String("family", &family);
  if (family != "systolic")
    root.Fail("family", fmt::format("'{}' is not systolic", family), "family: systolic");
  root.Name("name", &c.name);

  root.Int("array_rows", &c.array_rows, 1, 256);
  root.Int("array_columns", &c.array_columns, 1, 256);
  for (std::string_view key : {"array_rows", "array_columns"}) {
    const int value = key == "array_rows" ? c.array_rows : c.array_columns;
    if (!IsPowerOfTwo(value))
      root.Fail(key, fmt::format("{} is not a power of two", value), "a power of two up to 256");
  }
  root.Int("weight_rows_per_cycle", &c.weight_rows_per_cycle, 1, 256);
  if (c.array_rows % c.weight_rows_per_cycle != 0) {
    root.Fail(
        "weight_rows_per_cycle",
        fmt::format("{} does not divide array_rows {}", c.weight_rows_per_cycle, c.array_rows),
        "a divisor of array_rows");
  }

  root.Parsed("input_format", &c.input_format, FindFormat);
  root.Parsed("weight_format", &c.weight_format, FindFormat);
  for (const YamlMap& pair : root.Maps("other_precisions")) {
    pair.Require({"input", "weight"});
    OperandFormats formats;
    pair.Parsed("input", &formats.input, FindFormat);
    pair.Parsed("weight", &formats.weight, FindFormat);
    if (!formats.input.name.empty() && !formats.weight.name.empty())
      c.other_precisions.push_back(formats);
  }
  root.Choice("product", &c.product_rounded, {{"exact", false}, {"rounded", true}});
  root.Int("block_size", &c.block_size, 0, kMaxBlock);
  SetDefaultSums(&c);
  root.Parsed("psum_format", &c.psum_format, FindFormat);
  if (!c.psum_format.is_integer()) c.accumulation_format = *FindFormat("fp32");
  root.Parsed("accumulation_format", &c.accumulation_format, FindFormat);
  root.Bool("quire", &c.quire);
  root.Parsed("vector_format", &c.vector_format, FindFormat);
  root.Parsed("scale_format", &c.scale_format, FindFormat);
  if (const auto fault = FindFormatFault(c)) root.Fail(fault->key, fault->fault, fault->remedy);

  root.Int("input_buffer_words", &c.input_buffer_words, 1, kMaxWords);
  root.Int("weight_buffer_words", &c.weight_buffer_words, 1, kMaxWords);
  if (c.weight_buffer_words < c.array_rows) {
    root.Fail("weight_buffer_words",
              fmt::format("{} words do not hold one weight tile of {} rows", c.weight_buffer_words,
                          c.array_rows),
              "at least array_rows");
  }
  root.Int("accumulation_buffer_words", &c.accumulation_buffer_words, 1, kMaxWords);
  root.Int("accumulation_buffer_banks", &c.accumulation_buffer_banks, 1, 2);

  root.Int("vector_stages", &c.vector_stages, 1, kMostVectorStages);
  root.Int("vector_stage_latency", &c.vector_stage_latency, 1, 64);
  c.vector_function_stages = ReadStages(root, "vector_function_stages", c);
  c.vector_divide_stages = ReadStages(root, "vector_divide_stages", c);
  root.Int("vector_row_buffer_words", &c.vector_row_buffer_words, 1, kMaxWords);
  root.Int("vector_rows_in_flight", &c.vector_rows_in_flight, 1, 1024);
  root.Int("operand_buffer_words", &c.operand_buffer_words, kLeastOperandBuffer,
           kMostOperandBuffer);
  root.Int("depthwise_multipliers", &c.depthwise_multipliers, 0, 256);
  root.Int("depthwise_buffer_words", &c.depthwise_buffer_words, 1, kMaxWords);
  if (root.Has("user_unit")) {
    std::string user_unit;
    root.String("user_unit", &user_unit);
    c.user_unit = FindUserUnit(user_unit);
    const std::string names = fmt::format("{} or none", fmt::join(UserUnitNames(), ", "));
    if (c.user_unit == nullptr && user_unit != "none") {
      root.Fail("user_unit", fmt::format("there is no '{}'", user_unit), names);
    }
    if (const auto fault = FindUserUnitFault(c)) root.Fail(fault->key, fault->fault, fault->remedy);
  }

  root.Int("depthwise_words_per_cycle", &c.depthwise_words_per_cycle, 1, kMostDepthwiseWords);
  if (!IsPowerOfTwo(c.depthwise_words_per_cycle)) {
    root.Fail("depthwise_words_per_cycle",
              fmt::format("{} is not a power of two", c.depthwise_words_per_cycle),
              fmt::format("a power of two up to {}", kMostDepthwiseWords));
  }

  root.Int("input_port_bytes", &c.input_port_bytes, kLeastPort, kMostPort);
  root.Int("weight_port_bytes", &c.weight_port_bytes, kLeastPort, kMostPort);
  root.Int("operand_port_bytes", &c.operand_port_bytes, kLeastPort, kMostPort);
  root.Int("output_port_bytes", &c.output_port_bytes, kLeastPort, kMostPort);
  root.Int("instruction_bytes_per_cycle", &c.instruction_bytes_per_cycle, kLeastPort, kMostPort);
  for (const auto& [key, value] :
       {std::pair<std::string_view, int>{"input_port_bytes", c.input_port_bytes},
        {"weight_port_bytes", c.weight_port_bytes},
        {"operand_port_bytes", c.operand_port_bytes},
        {"output_port_bytes", c.output_port_bytes},
        {"instruction_bytes_per_cycle", c.instruction_bytes_per_cycle}}) {
    if (!IsPowerOfTwo(value))
      root.Fail(key, fmt::format("{} is not a power of two", value), "a power of two up to 128");
  }
  if (!DepthwiseWordsFit(c)) {
    root.Fail(
        "depthwise_words_per_cycle",
        fmt::format("{} words of {} bytes do not fit an input port of {} bytes",
                    c.depthwise_words_per_cycle, c.depthwise_word_bytes(), c.input_port_bytes),
        "as many as the port has room for, or 1");
  }
  root.Bool("shared_bus", &c.shared_bus);
  if (c.shared_bus && c.block_size > 0) {
    root.Fail("shared_bus", "block scales have ports of their own",
              "block_size: 0, or shared_bus: false");
  }
  for (const int width : {c.weight_port_bytes, c.operand_port_bytes, c.output_port_bytes,
                          c.instruction_bytes_per_cycle}) {
    if (!c.shared_bus || width == c.input_port_bytes) continue;
    root.Fail("shared_bus",
              fmt::format("a port of {} bytes beside one of {}", width, c.input_port_bytes),
              "one value for all *_port_bytes and instruction_bytes_per_cycle");
    break;
  }
  root.Int("memory_latency", &c.memory_latency, c.port_latency() + kLeastAnswer, 4096);
  root.Int("memory_bytes", &c.memory_bytes, 4096, kMaxMemory);

  root.Int("command_queue_depth", &c.command_queue_depth, 1, 32);
  root.Double("clock_mhz", &c.clock_mhz, 0.001, 100000);
  KILN_RETURN_IF_ERROR(file.Finish());
  return c;
}

std::string PrintConfig(const Config& c) {
  std::string out = "family: systolic\n";
  const auto add = [&](std::string_view key, const auto& value) {
    out += fmt::format("{}: {}\n", key, value);
  };
  add("name", YamlText(c.name));
  add("array_rows", c.array_rows);
  add("array_columns", c.array_columns);
  add("weight_rows_per_cycle", c.weight_rows_per_cycle);
  add("input_format", c.input_format.name);
  add("weight_format", c.weight_format.name);
  if (c.precisions() > 1) {
    out += "other_precisions:\n";
    for (const OperandFormats& pair : c.other_precisions) {
      out += fmt::format("  - {{input: {}, weight: {}}}\n", pair.input.name, pair.weight.name);
    }
  }
  add("product", c.product_rounded ? "rounded" : "exact");
  add("psum_format", c.psum_format.name);
  add("accumulation_format", c.accumulation_format.name);
  add("quire", c.quire);
  add("vector_format", c.vector_format.name);
  add("block_size", c.block_size);
  add("scale_format", c.scale_format.name);
  add("input_buffer_words", c.input_buffer_words);
  add("weight_buffer_words", c.weight_buffer_words);
  add("accumulation_buffer_words", c.accumulation_buffer_words);
  add("accumulation_buffer_banks", c.accumulation_buffer_banks);
  add("vector_stages", c.vector_stages);
  add("vector_stage_latency", c.vector_stage_latency);
  for (const auto& [key, stages] :
       {std::pair<std::string_view, uint32_t>{"vector_function_stages", c.vector_function_stages},
        {"vector_divide_stages", c.vector_divide_stages}}) {
    out += fmt::format("{}: [{}]\n", key, fmt::join(NumbersOf(c.present_stages(stages)), ", "));
  }
  add("vector_row_buffer_words", c.vector_row_buffer_words);
  add("vector_rows_in_flight", c.vector_rows_in_flight);
  add("operand_buffer_words", c.operand_buffer_words);
  add("depthwise_multipliers", c.depthwise_multipliers);
  add("depthwise_buffer_words", c.depthwise_buffer_words);
  add("user_unit", c.user_unit == nullptr ? "none" : c.user_unit->name);
  add("depthwise_words_per_cycle", c.depthwise_words_per_cycle);
  add("input_port_bytes", c.input_port_bytes);
  add("weight_port_bytes", c.weight_port_bytes);
  add("operand_port_bytes", c.operand_port_bytes);
  add("output_port_bytes", c.output_port_bytes);
  add("shared_bus", c.shared_bus);
  add("memory_latency", c.memory_latency);
  add("memory_bytes", c.memory_bytes);
  add("instruction_bytes_per_cycle", c.instruction_bytes_per_cycle);
  add("command_queue_depth", c.command_queue_depth);
  add("clock_mhz", c.clock_mhz);
  return out;
}

}  // namespace kiln::systolic
