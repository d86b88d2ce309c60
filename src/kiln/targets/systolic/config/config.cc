// Checks of a design point's formats and sizes, and the reader of design points. The checks that
// concern several keys are here; the range of a single key is in keys.cc.
#include "kiln/targets/systolic/config/config.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/quire.h"
#include "kiln/support/check.h"
#include "kiln/support/yaml.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/config/keys.h"

namespace kiln::systolic {
namespace {

// No unit of this machine draws random bits, so it cannot round stochastically.
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

// Checks the format of psum or of accumulation.
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

// Checks one of the other precisions. Its operands have the same restrictions as the first pair,
// and they must fit the first pair's sums and sizes in memory.
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
      return fault("this pair occurs twice", "each pair once");
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

Config AtPrecision(const Config& config, int precision) {
  Config c = config;
  c.input_format = config.input_format_of(precision);
  c.weight_format = config.weight_format_of(precision);
  c.other_precisions.clear();
  if (precision > 0) c.block_size = 0;
  return c;
}

Format FactorFormat(const Config& config) {
  const bool is_short = IsShortFloat(config.vector_format);
  const auto format = FindFormat(
      is_short ? fmt::format("e8m{}.flush", config.vector_format.fraction_bits) : "fp32");
  KILN_CHECK(format.ok());  // there is one for each number of fraction bits
  return *format;
}

float RoundScale(const Config& config, float scale) {
  const Format format = FactorFormat(config);
  return DecodeFloat(format, EncodeFloat(format, scale));
}

MacRule RuleOf(const Config& config, bool scaled) {
  return {.input = config.input_format,
          .weight = config.weight_format,
          .product_rounded = config.product_rounded,
          .quire = config.quire,
          .parted = config.quire && config.block_size > 0,
          .scaled = scaled,
          .psum = config.psum_format,
          .accumulation = config.accumulation_format};
}

int64_t DepthwisePsumTaps(const Config& config, int64_t taps) {
  return config.rounded_psums() ? std::min<int64_t>(config.depthwise_multipliers, taps) : taps;
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

void SetDefaultArrayLatencies(Config* config) {
  const bool whole = config->psum_format.is_integer();
  config->array_product_latency = whole ? 0 : 1;
  config->array_sum_latency = config->rounded_psums() ? 2 : 1;
  config->depthwise_sum_latency = config->array_sum_latency;
  const bool converted = whole || config->quire || config->block_size > 0;
  const bool few = !converted && config->accumulation_format.bits <= 16;
  const int latency = config->exact_accumulators() ? 1 : few ? 2 : 3;
  config->accumulation_latency = std::min(latency, config->weight_load_cycles());
}

void SetDefaultStages(Config* config) {
  const bool few = config->vector_stages < 3;
  config->vector_function_stages = few ? kEveryStage : 0b10;
  config->vector_divide_stages = few ? kEveryStage : 0b10;
}

int LeastFunctionLatency(const Config& config) {
  if (!IsShortFloat(config.vector_format)) return 0;
  if (config.present_stages(config.vector_function_stages) == 0) return 0;
  return std::max(0, (config.vector_stage_latency < 3 ? 5 : 6) - config.vector_stage_latency);
}

void SetDefaultLatencies(Config* config) {
  config->vector_function_latency = LeastFunctionLatency(*config);
  config->vector_convert_latency = IsShortFloat(config->vector_format) ? 3 : 0;
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
  for (int p = 0; p < c.precisions() && !c.integer_elements; ++p) {
    // Codes of the array have neither the zero points nor the symmetric ranges of integers.
    // Only those of the first precision have block scales instead.
    if (c.input_format_of(p).is_whole() && (p > 0 || c.block_size == 0)) {
      return FormatFault{"integer_elements",
                         fmt::format("false, with an array of '{}'", c.input_format_of(p).name),
                         "true"};
    }
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
    return FormatFault{"user_unit", "it replaces the depthwise unit, and there is none",
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

using ConfigReader = hardware::KeyReader<Config>;

// Read a group of keys, in the order of the table, and check what must hold between them. Defaults
// follow from keys that were read before: those of the sums' formats from the operands and the
// block size.
void ReadSums(const YamlMap& root, ConfigReader& reader, Config& c) {
  reader.ReadTo("product");
  reader.Read("block_size");
  SetDefaultSums(&c);
  reader.Read("psum_format");
  if (!c.psum_format.is_integer()) c.accumulation_format = *FindFormat("fp32");
  reader.ReadTo("scale_format");
  if (const auto fault = FindFormatFault(c)) root.Fail(fault->key, fault->fault, fault->remedy);

  SetDefaultArrayLatencies(&c);
  reader.ReadTo("array_sum_latency");
  if (c.array_sum_latency > 1 && (c.psum_format.is_integer() || c.quire)) {
    root.Fail(
        "array_sum_latency",
        fmt::format("{} cycles for {} sums", c.array_sum_latency, c.quire ? "exact" : "integer"),
        "1");
  }
  reader.ReadTo("accumulation_latency");
  if (c.accumulation_latency > 1 && c.exact_accumulators()) {
    root.Fail("accumulation_latency",
              fmt::format("{} cycles for {} accumulators", c.accumulation_latency,
                          c.accumulation_format.is_integer() ? "integer" : "exact"),
              "1");
  }
  if (c.accumulation_latency > c.weight_load_cycles()) {
    root.Fail("accumulation_latency",
              fmt::format("{} cycles are more than the {} from a pass of one pixel to the next",
                          c.accumulation_latency, c.weight_load_cycles()),
              "at most array_rows / weight_rows_per_cycle");
  }
}

void ReadVectorUnit(const YamlMap& root, ConfigReader& reader, Config& c) {
  reader.ReadTo("vector_stages");
  SetDefaultStages(&c);
  reader.ReadTo("vector_divide_stages");
  SetDefaultLatencies(&c);
  reader.ReadTo("vector_convert_latency");
  if (c.vector_function_latency < LeastFunctionLatency(c)) {
    root.Fail("vector_function_latency",
              fmt::format("{} cycles beyond {} are too few for functions in {}",
                          c.vector_function_latency, c.vector_stage_latency, c.vector_format.name),
              fmt::format("at least {}", LeastFunctionLatency(c)));
  }
  reader.ReadTo("operand_buffer_words");
  if (OperandEntries(c) > kMostOperandBuffer) {
    root.Fail(
        "operand_buffer_words",
        fmt::format("{} words and {} cycles of the conversion and a stage take more than {} "
                    "entries",
                    c.operand_buffer_words, c.vector_convert_latency + c.vector_stage_latency,
                    kMostOperandBuffer),
        fmt::format("at most {}", c.operand_buffer_words + kMostOperandBuffer - OperandEntries(c)));
  }
}

void ReadPorts(const YamlMap& root, ConfigReader& reader, Config& c) {
  reader.ReadTo("output_port_bytes");
  reader.Read("instruction_bytes_per_cycle");
  if (!DepthwiseWordsFit(c)) {
    root.Fail(
        "depthwise_words_per_cycle",
        fmt::format("{} words of {} bytes do not fit an input port of {} bytes",
                    c.depthwise_words_per_cycle, c.depthwise_word_bytes(), c.input_port_bytes),
        "as many as the port has room for, or 1");
  }
  reader.Read("shared_bus");
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
}

}  // namespace

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(yaml, source));
  const YamlMap root = file.root();
  Config c;
  ConfigReader reader(Keys(), root, &c);
  reader.ReadTo("weight_rows_per_cycle");
  if (c.array_rows % c.weight_rows_per_cycle != 0) {
    root.Fail(
        "weight_rows_per_cycle",
        fmt::format("{} does not divide array_rows {}", c.weight_rows_per_cycle, c.array_rows),
        "a divisor of array_rows");
  }

  ReadSums(root, reader, c);
  reader.ReadTo("weight_buffer_words");
  if (c.weight_buffer_words < c.array_rows) {
    root.Fail("weight_buffer_words",
              fmt::format("{} words do not hold one weight tile of {} rows", c.weight_buffer_words,
                          c.array_rows),
              "at least array_rows");
  }
  ReadVectorUnit(root, reader, c);
  reader.ReadTo("depthwise_sum_latency");
  if (c.depthwise_sum_latency > 1 && !c.rounded_psums()) {
    root.Fail("depthwise_sum_latency",
              fmt::format("{} cycles for {} sums", c.depthwise_sum_latency,
                          c.quire ? "exact" : "integer"),
              "1");
  }
  reader.ReadTo("user_unit");
  if (const auto fault = FindUserUnitFault(c)) root.Fail(fault->key, fault->fault, fault->remedy);

  ReadPorts(root, reader, c);
  reader.ReadRest();
  KILN_RETURN_IF_ERROR(file.Finish());
  return c;
}

std::string PrintConfig(const Config& c) { return Keys().Print(c); }

}  // namespace kiln::systolic
