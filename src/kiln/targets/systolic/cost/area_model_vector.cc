// Area models of the modules of rtl/systolic/vector. Lanes, registers, decoders and quantisers have
// their own models, because synthesis keeps them as separate modules inside others
// (hardware/synthesis_boundaries.h).
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "kiln/numerics/function_unit.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/cost/area_counts.h"
#include "kiln/targets/systolic/cost/area_model.h"

namespace kiln::systolic {
namespace {

using hardware::WidthsOf;
using Features = std::vector<Feature>;
using Parameters = ModuleParameters;
using Fitted = std::vector<FittedModel>;

constexpr double kScalars = 4;

const Format& VectorFormat(const Parameters& p) { return p.FormatOf("VECTOR_FORMAT", "fp32"); }
double Number(const Parameters& p) { return NumberBits(VectorFormat(p)); }
// A short float is modelled by itself; other formats narrower than fp32 compute in fp32 and round.
bool IsShort(const Parameters& p) { return IsShortFloat(VectorFormat(p)); }
bool IsNarrow(const Parameters& p) { return Number(p) < 32 && !IsShort(p); }
bool IsWhole(const Parameters& p) { return Number(p) >= 32; }
bool IsLong(const Parameters& p) { return !IsShort(p); }
double Significand(const Parameters& p) { return WidthsOf(VectorFormat(p)).significand_bits; }
bool HasIntegers(const Parameters& p) { return p.Number("INTEGER_ELEMENTS", 1) != 0; }
// Returns the significand bits of a scale that has the upper `bits` of an fp32 number.
double ScaleSignificand(int64_t bits) { return static_cast<double>(bits - 8); }
double Count(const Parameters& p, const char* name, int64_t otherwise) {
  return static_cast<double>(p.Number(name, otherwise));
}

// Returns the formats of codes: both of the first precision, and those of further precisions
// (PRECISIONS, INPUT_FORMAT_1, ...) that are not already in the list.
std::vector<const Format*> CodeFormats(const Parameters& p) {
  std::vector<const Format*> formats = {&p.FormatOf("INPUT_FORMAT"), &p.FormatOf("WEIGHT_FORMAT")};
  for (int64_t precision = 1; precision < p.Number("PRECISIONS", 1); ++precision) {
    for (const char* side : {"INPUT_FORMAT_", "WEIGHT_FORMAT_"}) {
      const Format& format = p.FormatOf(side + std::to_string(precision));
      const bool stands = std::any_of(formats.begin(), formats.end(),
                                      [&](const Format* f) { return *f == format; });
      if (!stands) formats.push_back(&format);
    }
  }
  return formats;
}

// Returns the shifter area that converts numbers to codes and back. int8 has its own functions for
// this.
double CodecPlaces(const Parameters& p) {
  const std::vector<const Format*> formats = CodeFormats(p);
  double places = 0;
  for (size_t i = 0; i < formats.size(); ++i) {
    const Format& f = *formats[i];
    // The first two formats share one unit.
    const bool is_int8 = f.name == "int8" && (i >= 2 || formats[1 - i]->name == "int8");
    if (is_int8 || f.kind == FormatKind::kCodebook) continue;
    places += ShifterArea(24) + ShifterArea(WidthsOf(f).significand_bits);
  }
  return places;
}
double CodecPositPlaces(const Parameters& p) {
  double places = 0;
  for (const Format* format : CodeFormats(p)) places += PositPlaces(*format);
  return places;
}
double CodecTableBits(const Parameters& p) {
  constexpr int kValueBits = 32;
  double bits = 0;
  for (const Format* format : CodeFormats(p)) bits += TableBits(*format, kValueBits);
  return bits;
}

Features WholeLane(const Parameters& p, const Fitted&) {
  return {{"lane", 1}, {"divider", Count(p, "HAS_DIVIDER", 1)}};
}
// A lane of narrow numbers is modelled as one of fp32 with fewer bits, except its divider, which
// divides in fp32 and rounds.
constexpr double kFp32Significand = 24;
double ShareOfFp32(const Parameters& p) {
  return WidthsOf(VectorFormat(p)).significand_bits / kFp32Significand;
}
Features NarrowLane(const Parameters& p, const Fitted& fitted) {
  Parameters lane;
  lane.Set("HAS_DIVIDER", 0);
  return {{"lane of fp32, by significand bits",
           ShareOfFp32(p) * ModuleArea("kiln_vector_lane", lane, fitted)},
          {"divider", Count(p, "HAS_DIVIDER", 1)}};
}
// Splines compute in fp32 regardless of the formats of their operands and results; narrow formats
// have tables of narrow coefficients.
Features Spline(const Parameters&, const Fitted&) { return {{"splines", 1}}; }

// A lane of short floats: a product, a sum with its shifters, registers of every cycle, a divider.
Features ShortLane(const Parameters& p, const Fitted&) {
  const double bits = Significand(p);
  return {{"lane", 1},
          {"pairs of significand bits", bits * bits},
          {"places of a sum", ShifterArea(bits)},
          {"number bits", Number(p)},
          {"registers", Count(p, "LATENCY", 1) * Number(p)},
          {"pairs of a quotient", Count(p, "HAS_DIVIDER", 1) * bits * bits}};
}
// The function unit with its four registers.
Features FunctionUnit(const Parameters& p, const Fitted&) {
  return {{"unit", 1}, {"fraction bits", Significand(p) - 1}};
}

// The selection of a lane's arguments; the configurations of a stage are in a memory.
Features StageFeatures(const Parameters& p, const Fitted&) {
  return {{"bits of a configuration", kStageControlBits + 2 * Number(p)},
          {"scalar bits", Count(p, "ROWS", 8) * kScalars * Number(p)},
          {"lane bits", Count(p, "LANES", 4) * Number(p)},
          {"stage", 1}};
}
// The value of a lane, two saved values and three operands, or those of them that are carried.
Features Registers(const Parameters& p, const Fitted&) {
  const double lanes = Count(p, "LANES", 4), latency = Count(p, "LATENCY", 1);
  const auto operands = static_cast<uint64_t>(p.Number("CARRIES_OPERANDS", 0b111));
  const double values =
      Count(p, "CARRIES_VALUE", 1) + 2 * Count(p, "CARRIES_SAVED", 1) + std::popcount(operands);
  const double number = p.Number("NUMBER", static_cast<int64_t>(Number(p)));
  return {{"lane bits", lanes * latency * values * number}, {"stages", latency}, {"registers", 1}};
}

Features OperandBuffer(const Parameters& p, const Fitted&) {
  const double lanes = Count(p, "LANES", 4);
  return {{"lane bits", lanes * Number(p)}, {"buffer", 1}, {"block scales", HasBlocks(p)}};
}
// A short float's buffer also adds and compares the numbers of windows, and keeps what travels
// beside a conversion.
Features ShortOperandBuffer(const Parameters& p, const Fitted& fitted) {
  Features features = OperandBuffer(p, fitted);
  const double lanes = Count(p, "LANES", 4);
  features.push_back({"places of sums", lanes * ShifterArea(Significand(p))});
  features.push_back({"registers", Count(p, "CONVERT", 0)});
  return features;
}
// A conversion, the product of a number with a scale of as many bits, and registers.
Features ShortDecoder(const Parameters& p, const Fitted&) {
  return {{"decoder", 1},
          {"integers", HasIntegers(p) ? 1.0 : 0.0},
          {"pairs of bits of number and scale", Significand(p) * Significand(p)},
          {"registers", Count(p, "CONVERT", 0)},
          {"places of codes", CodecPlaces(p)},
          {"places of posits", CodecPositPlaces(p)},
          {"table bits", CodecTableBits(p)}};
}
Features OperandDecoder(const Parameters& p, const Fitted&) {
  return {{"decoder", 1},
          {"rounding", IsNarrow(p) ? 1.0 : 0.0},
          {"places of codes", CodecPlaces(p)},
          {"places of posits", CodecPositPlaces(p)},
          {"table bits", CodecTableBits(p)}};
}
Features Quantiser(const Parameters& p, const Fitted&) {
  return {{"quantiser", 1},
          {"number bits", Number(p)},
          {"places of codes", CodecPlaces(p)},
          {"places of posits", CodecPositPlaces(p)},
          {"table bits", CodecTableBits(p)},
          {"saturated codes", Count(p, "BLOCKS", 0)}};
}

Features ShortQuantiser(const Parameters& p, const Fitted&) {
  return {{"quantiser", 1},
          {"integers", HasIntegers(p) ? 1.0 : 0.0},
          {"pairs of bits of number and scale",
           ScaleSignificand(p.Number("SCALE", 32)) * Significand(p)},
          {"registers", Count(p, "REGISTERS", 0)},
          {"places of codes", CodecPlaces(p)},
          {"places of posits", CodecPositPlaces(p)},
          {"table bits", CodecTableBits(p)},
          {"saturated codes", Count(p, "BLOCKS", 0)}};
}

Features SourceFeatures(const Parameters& p, const Fitted&) {
  const double lanes = Count(p, "LANES", 4),
               significand = WidthsOf(VectorFormat(p)).significand_bits;
  const Format& sum = p.FormatOf("ACCUMULATION_FORMAT", "int32");
  const bool is_narrow = IsNarrow(p);
  return {{"lanes", lanes},
          {"lanes of narrow numbers", is_narrow ? lanes : 0},
          {"pairs of significand bits", lanes * significand * significand},
          {"places of an integer", lanes * IntegerPlaces(sum)},
          {"places of a float", lanes * FloatPlaces(sum)},
          {"number bits", lanes * Number(p)}};
}

Features ShortSource(const Parameters& p, const Fitted&) {
  const double lanes = Count(p, "LANES", 4), bits = Significand(p);
  const Format& sum = p.FormatOf("ACCUMULATION_FORMAT", "int32");
  return {{"lanes", lanes},
          {"pairs of significand bits", lanes * bits * bits},
          {"places of an integer", lanes * IntegerPlaces(sum)},
          {"places of a float", lanes * FloatPlaces(sum)},
          {"registers of numbers",
           lanes * Number(p) * (Count(p, "CONVERT", 0) + Count(p, "LATENCY", 1))}};
}

Features Reduction(const Parameters& p, const Fitted&) {
  const double lanes = Count(p, "LANES", 4),
               significand = WidthsOf(VectorFormat(p)).significand_bits;
  const double joins = 2 * lanes - 1;
  return {{"joins", joins},
          {"number bits of joins", joins * Number(p)},
          {"places of joins", joins * ShifterArea(significand)},
          {"lane bits", lanes * Number(p)},
          {"number bits of stages", Count(p, "SCALAR_STAGES", 12) * Number(p)},
          {"scalar bits", Count(p, "ROWS", 8) * kScalars * Number(p)}};
}

Features Issue(const Parameters& p, const Fitted&) {
  return {
      {"issuer", 1}, {"words", Count(p, "WORDS", 32)}, {"marks of blocks", Count(p, "BLOCKS", 0)}};
}

Features Blocks(const Parameters& p, const Fitted&) {
  const int64_t block = p.Number("BLOCK_SIZE", 8), word = p.Number("LANES", 4);
  const auto lanes = static_cast<double>(word),
             scales = static_cast<double>(ScalesOfWord(block, word)),
             waiting = static_cast<double>(WordsBehindBlock(block, word,
                                                            p.FormatOf("ELEMENT_FORMAT").bytes(),
                                                            p.Number("OUTPUT_PORT_BYTES", 16)));
  const double latency = Count(p, "LATENCY", 1);
  constexpr double kWordBits = 2 * kAddressBits + 14, kIntegerBits = 96;  // besides the values
  constexpr double kCodeBits = 8;
  const double scale_bits = kCodeBits + Count(p, "INVERSE", 32);
  return {{"bits of a word", lanes * Number(p) + kWordBits + (HasIntegers(p) ? kIntegerBits : 0)},
          {"bits of scales", (waiting + latency) * scales * scale_bits},
          {"bits of the tree", latency * (lanes - scales) * Number(p)},
          {"scales", scales},
          {"blocks", 1}};
}

// The rest of the unit: listing words, fetching operands, and the path by which words leave.
Features Unit(const Parameters& p, const Fitted&) {
  const double lanes = Count(p, "ARRAY_COLUMNS", 4), stages = Count(p, "VECTOR_STAGES", 12);
  const double latency = Count(p, "VECTOR_STAGE_LATENCY", 4);
  // An element on its way to memory (element_bits of kiln_vector_pkg), its operands aside.
  const double element = !HasIntegers(p) && IsShort(p) ? 16 : 32;
  return {{"unit", 1},
          {"element bits", lanes * element},
          {"lane registers", lanes * Number(p) * (latency - 1)},
          {"number bits of lanes and stages", lanes * stages * Number(p)},
          {"programs", Count(p, "SLOTS", 7)},
          {"block scales", HasBlocks(p)}};
}

}  // namespace

const std::vector<ModuleModel>& VectorModels() {
  static const std::vector<ModuleModel> models = {
      {"lane of fp32 without splines", "kiln_vector_lane", "kiln_spline", IsWhole, WholeLane},
      {"lane of narrow numbers without splines", "kiln_vector_lane", "kiln_spline", IsNarrow,
       NarrowLane},
      {"splines of fp32", "kiln_spline", "", IsWhole, Spline},
      {"splines of narrow numbers", "kiln_spline", "", IsNarrow, Spline},
      {"lane of short floats without functions", "kiln_vector_lane", "kiln_function", IsShort,
       ShortLane},
      {"function unit of short floats", "kiln_function", "", Always, FunctionUnit},
      {"vector stage without its lanes", "kiln_vector_stage",
       "kiln_vector_lane kiln_vector_registers", Always, StageFeatures},
      {"registers of a stage", "kiln_vector_registers", "", Always, Registers},
      {"operand buffer", "kiln_operand_buffer", "kiln_operand_decoder", IsLong, OperandBuffer},
      {"operand buffer of short floats", "kiln_operand_buffer", "kiln_operand_decoder", IsShort,
       ShortOperandBuffer},
      {"operand decoder", "kiln_operand_decoder", "", IsLong, OperandDecoder},
      {"operand decoder of short floats", "kiln_operand_decoder", "", IsShort, ShortDecoder},
      {"source of the lanes", "kiln_vector_source", "kiln_vector_registers", IsLong,
       SourceFeatures},
      {"source of short floats", "kiln_vector_source", "kiln_vector_registers", IsShort,
       ShortSource},
      {"reduction", "kiln_reduction", "kiln_vector_stage kiln_vector_registers", IsLong, Reduction},
      {"reduction of short floats", "kiln_reduction", "kiln_vector_stage kiln_vector_registers",
       IsShort, Reduction},
      {"quantiser", "kiln_quantiser", "", Always, Quantiser},
      {"quantiser of short floats", "kiln_short_quantiser", "", Always, ShortQuantiser},
      {"issue of words", "kiln_vector_issue", "", Always, Issue},
      {"gathering of blocks", "kiln_vector_blocks", "", Always, Blocks},
      {"rest of the vector unit", "kiln_vector_unit",
       "kiln_vector_stage kiln_operand_buffer kiln_vector_source kiln_reduction kiln_quantiser "
       "kiln_short_quantiser kiln_vector_issue kiln_vector_blocks",
       Always, Unit},
  };
  return models;
}

}  // namespace kiln::systolic
