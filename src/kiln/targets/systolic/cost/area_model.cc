// Area models of the modules of rtl/systolic outside the vector unit (area_model_vector.cc). The
// features of each model count the hardware that its module contains.
#include "kiln/targets/systolic/cost/area_model.h"

#include <algorithm>
#include <cmath>

#include "kiln/hardware/rtl_format.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/cost/area_counts.h"

namespace kiln::systolic {
namespace {

using hardware::NumberWidths;
using hardware::WidthsOf;
using Features = std::vector<Feature>;
using Parameters = ModuleParameters;
using Fitted = std::vector<FittedModel>;

bool SumsIntegers(const Parameters& p) { return p.FormatOf("PSUM_FORMAT", "int32").is_integer(); }
bool SumsReals(const Parameters& p) { return !SumsIntegers(p); }

// The adder of floats (kiln_number_add), which aligns, adds, normalises and rounds.
struct RealSum {
  double width, exponent_bits;
  RealSum(double significand, double exponent, const Format& sum) {
    const NumberWidths widths = WidthsOf(sum);
    width = std::max<double>(significand, widths.significand_bits) + 4;
    exponent_bits =
        std::max({exponent, static_cast<double>(widths.exponent_bits), CountedBits(width) + 1}) + 2;
  }
};

Features WholeElement(const Parameters& p, const Fitted&) {
  const Format &x = p.FormatOf("INPUT_FORMAT"), &w = p.FormatOf("WEIGHT_FORMAT"),
               &sum = p.FormatOf("PSUM_FORMAT", "int32");
  const double x_bits = WidthsOf(x).integer_bits, w_bits = WidthsOf(w).integer_bits;
  // Yosys adds the partial products of two signed factors, sign-extended to the width of the sum.
  const double rows = std::min(x_bits, w_bits);
  const bool is_signed = (!x.is_integer() || x.is_signed) && (!w.is_integer() || w.is_signed);
  const double width = is_signed ? sum.bits : std::min<double>(sum.bits, x_bits + w_bits);
  return {{"element", 1},
          {"bits of partial products", rows * width},
          {"pairs of operand bits", x_bits * w_bits},
          {"operand bits", x_bits + w_bits},
          {"sum bits", static_cast<double>(sum.bits)},
          // More than two partial products are reduced to sums and carries, which a fast adder
          // joins.
          {"sum bits over a carry-save adder", rows > 2 ? sum.bits : 0.0},
          {"weight register bits", 2.0 * w.bits},
          {"product register bits", p.Number("PRODUCT_LATENCY", 0) * (x_bits + w_bits)},
          {"table bits",
           TableBits(x, WidthsOf(x).integer_bits) + TableBits(w, WidthsOf(w).integer_bits)}};
}

Features RealElement(const Parameters& p, const Fitted&) {
  const Format &x = p.FormatOf("INPUT_FORMAT"), &w = p.FormatOf("WEIGHT_FORMAT"),
               &sum = p.FormatOf("PSUM_FORMAT");
  const NumberWidths a = WidthsOf(x), b = WidthsOf(w), s = WidthsOf(sum);
  const bool rounded = p.Number("PRODUCT_ROUNDED", 0) != 0;
  const double product = a.significand_bits + b.significand_bits;
  const double exponent = std::max(a.exponent_bits, b.exponent_bits) + 2;
  const RealSum adder(rounded ? s.significand_bits : product, rounded ? s.exponent_bits : exponent,
                      sum);
  // A number is three flags, exponent and significand; half a sum has a fourth flag.
  const double product_registers = p.Number("PRODUCT_LATENCY", 0) * (3 + exponent + product);
  const double sum_registers =
      (p.Number("SUM_LATENCY", 1) - 1) * (4 + adder.exponent_bits + adder.width);
  return {
      {"element", 1},
      {"pairs of significand bits", static_cast<double>(a.significand_bits) * b.significand_bits},
      {"width of the sum", adder.width},
      {"places of the sum's shifters", ShifterArea(adder.width)},
      {"exponent bits", adder.exponent_bits},
      {"register bits", static_cast<double>(x.bits + 2 * w.bits + sum.bits)},
      {"register bits within", product_registers + sum_registers},
      {"significand bits of the psum", static_cast<double>(s.significand_bits)},
      {"posit places", PositPlaces(x) + PositPlaces(w)},
      {"float places", FloatPlaces(x) + FloatPlaces(w)},
      {"integer places", IntegerPlaces(x) + IntegerPlaces(w)},
      {"table bits", TableBits(x, a.significand_bits) + TableBits(w, b.significand_bits)},
      {"places of a rounded product",
       rounded ? ShifterArea(product) + ShifterArea(s.significand_bits) : 0.0}};
}

// The skew of activations, weights and sums, and the control lines beside them: kiln_delay and
// kiln_pulse_delay.
Features Skew(const Parameters& p, const Fitted&) {
  const auto rows = static_cast<double>(p.Number("ARRAY_ROWS", 4));
  const auto columns = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const auto buses = static_cast<double>(p.Number("WEIGHT_ROWS_PER_CYCLE", 1));
  // Cycles from row to row, and columns of control for the later stages of the last elements.
  const auto slope = static_cast<double>(p.Number("SUM_LATENCY", 1));
  const double stages = static_cast<double>(p.Number("PRODUCT_LATENCY", 0)) + slope;
  const double steps = rows / buses, wait = slope * buses - 1;
  const double weight_cycles = columns * slope * buses * (buses - 1) / 2 +
                               buses * columns * (columns - 1) / 2 +
                               buses * columns * (steps - 1) * wait;
  const double data = p.FormatOf("INPUT_FORMAT").bits * slope * rows * (rows - 1) / 2 +
                      p.FormatOf("PSUM_FORMAT", "int32").bits * columns * (columns - 1) / 2 +
                      p.FormatOf("WEIGHT_FORMAT").bits * weight_cycles;
  const double step_cycles = slope * buses * (buses - 1) / 2 + buses * (steps - 1) * wait;
  return {{"data bits", data},
          {"control bits", rows * (4 * (columns - 1) + 2 * (stages - 1)) +
                               3 * slope * rows * (rows - 1) / 2 +
                               step_cycles * (1 + CountedBits(steps))},
          {"rows", rows},
          {"array", 1}};
}

Features WeightBuffer(const Parameters& p, const Fitted&) {
  const auto rows = static_cast<double>(p.Number("ARRAY_ROWS", 8));
  const auto columns = static_cast<double>(p.Number("ARRAY_COLUMNS", 8));
  const auto sets = static_cast<double>(p.Number("WEIGHT_ROWS_PER_CYCLE", 1));
  const auto bits = static_cast<double>(p.Number("CODE_BITS", 8));
  const double steps = rows / sets, memories = std::max(steps, columns);
  // Rows and columns use the same positions if the tile of a set is square.
  const bool apart = steps != columns;
  return {
      {"places turned on writing",
       sets * bits * (columns * CountedBits(steps) + (apart ? steps * CountedBits(columns) : 0))},
      {"places turned on reading", steps > 1 ? sets * bits * memories * CountedBits(steps) : 0},
      {"data bits, rows apart from columns", apart ? sets * memories * bits : 0},
      {"memories", sets * memories},
      {"buffer", 1}};
}

Features WeightLoader(const Parameters& p, const Fitted&) {
  const auto rows = static_cast<double>(p.Number("ARRAY_ROWS", 4));
  const auto step = static_cast<double>(p.Number("WEIGHT_ROWS_PER_CYCLE", 1));
  return {
      {"loader", 1},
      {"tile bits", CountedBits(static_cast<double>(p.Number("WEIGHT_BUFFER_WORDS", 1024)) / rows)},
      {"step bits", CountedBits(rows / step)}};
}

Features Sequencer(const Parameters& p, const Fitted&) {
  const auto rows = static_cast<double>(p.Number("ARRAY_ROWS", 4));
  const auto columns = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const double word_bits =
      CountedBits(static_cast<double>(p.Number("ACCUMULATION_BUFFER_WORDS", 1024)));
  return {{"sequencer", 1},
          {"bits on their way to the accumulators", (rows + columns) * (word_bits + 3)},
          {"rows", rows},
          {"address bits",
           CountedBits(static_cast<double>(p.Number("INPUT_BUFFER_WORDS", 1024))) + word_bits}};
}

Features WholeAccumulators(const Parameters& p, const Fitted&) {
  const auto columns = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const double sum = p.FormatOf("PSUM_FORMAT", "int32").bits;
  const double bits = p.FormatOf("ACCUMULATION_FORMAT", "int32").bits;
  return {{"sum bits", columns * bits},
          {"psum bits", columns * sum},
          {"sum bits of a second bank",
           p.Number("ACCUMULATION_BUFFER_BANKS", 2) > 1 ? columns * bits : 0},
          {"buffer", 1}};
}

// Also models integer psums that are scaled.
Features RealAccumulators(const Parameters& p, const Fitted&) {
  const auto columns = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const Format &psum = p.FormatOf("PSUM_FORMAT", "int32"),
               &sum = p.FormatOf("ACCUMULATION_FORMAT", "int32");
  const bool scaled = p.Number("SCALED", 0) != 0;
  // A scale is the product of two codes in fp32. The product of two powers of two has one bit.
  const double factor = WidthsOf(p.FormatOf("SCALE_FORMAT", "fp32")).significand_bits;
  const double scale = factor <= 1 ? 1 : std::min(24.0, 2 * factor);
  const double significand = WidthsOf(psum).significand_bits;
  const RealSum adder(significand + (scaled ? scale : 0), WidthsOf(psum).exponent_bits, sum);
  // A number is three flags, exponent and significand; half a sum has a fourth flag. The depthwise
  // unit's sums wait as long as the array's, and are converted without registers.
  const double term = 6 + WidthsOf(sum).exponent_bits + WidthsOf(sum).significand_bits +
                      adder.exponent_bits + significand + (scaled ? scale : 0);
  const double half = 4 + adder.exponent_bits + adder.width;
  const double latency = static_cast<double>(p.Number("ACCUMULATION_LATENCY", 1));
  const double waiting = p.Number("DEPTHWISE", 1) != 0 ? (latency - 1) * sum.bits : 0;
  const double stages = (latency > 1 ? half : 0) + (latency > 2 ? term : 0) + waiting;
  return {{"column", columns},
          {"register bits", columns * sum.bits},
          {"register bits within", columns * stages},
          {"width of the sum", columns * adder.width},
          {"places of the sum's shifters", columns * ShifterArea(adder.width)},
          {"pairs of bits of psum and scale", scaled ? columns * significand * scale : 0},
          {"places of an integer psum", columns * IntegerPlaces(psum)},
          {"places of a float psum", columns * FloatPlaces(psum)},
          {"sum bits of a second bank",
           p.Number("ACCUMULATION_BUFFER_BANKS", 2) > 1 ? columns * sum.bits : 0},
          {"buffer", 1}};
}
bool AccumulatesIntegers(const Parameters& p) {
  return p.FormatOf("ACCUMULATION_FORMAT", "int32").is_integer();
}
bool AccumulatesReals(const Parameters& p) { return !AccumulatesIntegers(p); }

Features BlockScalesFeatures(const Parameters& p, const Fitted&) {
  const auto rows = static_cast<double>(p.Number("ARRAY_ROWS", 4));
  const auto columns = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const auto step = static_cast<double>(p.Number("WEIGHT_ROWS_PER_CYCLE", 1));
  const Format& scale = p.FormatOf("SCALE_FORMAT", "e8m0");
  const double significand = WidthsOf(scale).significand_bits;
  const double depth = (rows + columns - 1) * step / rows + 3;
  return {{"scale bits of tiles on their way", depth * columns * scale.bits},
          {"columns", columns},
          {"pairs of significand bits", columns * significand * significand},
          {"rows and columns", rows + columns},
          {"block scales", 1}};
}

double Lanes(const Parameters& p) {
  return static_cast<double>(std::max(p.Number("ARRAY_ROWS", 8), p.Number("ARRAY_COLUMNS", 8)));
}
Features InputFetch(const Parameters& p, const Fitted&) {
  const double lanes = Lanes(p), bits = static_cast<double>(p.Number("INPUT_BITS", 8));
  return {{"fetch", 1},
          {"lanes", lanes},
          {"places of a word", bits * ShifterArea(lanes)},
          {"word bits", bits * lanes},
          {"lane bits", CountedBits(lanes + 1)},
          {"block scales", HasBlocks(p)}};
}
Features WeightFetch(const Parameters& p, const Fitted&) {
  const double lanes = Lanes(p), bits = static_cast<double>(p.Number("WEIGHT_BITS", 8));
  return {{"fetch", 1},
          {"lanes", lanes},
          {"word bits", bits * lanes},
          {"lane bits", CountedBits(lanes + 1)},
          {"block scales", HasBlocks(p)}};
}
Features ParameterFetch(const Parameters& p, const Fitted&) {
  const auto lanes = static_cast<double>(p.Number("ARRAY_COLUMNS", 8));
  return {{"fetch", 1}, {"lanes", lanes}, {"lane bits", CountedBits(lanes + 1)}};
}

// The sizes of a read or write port.
struct Port {
  double data_bits, word_bits, chunk_bits, outstanding, tag_bits;
  explicit Port(const Parameters& p)
      : data_bits(8 * static_cast<double>(p.Number("DATA_BYTES", 16))),
        word_bits(8 * static_cast<double>(p.Number("MAX_BYTES", 16))),
        outstanding(static_cast<double>(p.Number("OUTSTANDING", 32))),
        tag_bits(static_cast<double>(p.Number("TAG_BITS", 8))) {
    // A word that does not begin at a beat boundary needs one more beat.
    chunk_bits = std::ceil(word_bits / data_bits) * data_bits;
    if (word_bits > 8)
      chunk_bits =
          std::max(chunk_bits, std::ceil((word_bits + data_bits - 8) / data_bits) * data_bits);
  }
};
Features ReadChannel(const Parameters& p, const Fitted&) {
  const Port port(p);
  return {{"port", 1},
          {"places of a word", port.word_bits * CountedBits(port.data_bits / 8)},
          {"bits of a word's beats", port.chunk_bits},
          {"bits of a request",
           static_cast<double>(RequestBits(p.Number("DATA_BYTES", 16), p.Number("MAX_BYTES", 16),
                                           p.Number("TAG_BITS", 8)))}};
}
Features WriteChannel(const Parameters& p, const Fitted&) {
  const Port port(p);
  return {{"port", 1},
          {"places of a word", port.word_bits * CountedBits(port.data_bits / 8)},
          {"bits of a word's beats", port.chunk_bits},
          {"bits of a beat", port.data_bits},
          {"bits of bursts under way", port.outstanding * (port.tag_bits + 1)}};
}

Features WholeDepthwise(const Parameters& p, const Fitted&) {
  const auto lanes = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const auto taps = static_cast<double>(p.Number("DEPTHWISE_MULTIPLIERS", 9));
  const Format &x = p.FormatOf("INPUT_FORMAT"), &w = p.FormatOf("WEIGHT_FORMAT"),
               &sum = p.FormatOf("PSUM_FORMAT", "int32");
  const double product = static_cast<double>(WidthsOf(x).integer_bits) * WidthsOf(w).integer_bits;
  return {{"pairs of operand bits", lanes * taps * product},
          {"sum bits of taps", lanes * taps * sum.bits},
          {"sum bits", lanes * sum.bits},
          // Sums wait until as many cycles have passed as in the array (SUM_WAIT).
          {"sum bits that wait", lanes * std::max(0.0, lanes - 4) * sum.bits},
          {"taps", taps},
          {"operand bits", lanes * taps * (x.bits + w.bits)},
          {"unit", 1}};
}
Features RealDepthwise(const Parameters& p, const Fitted& fitted) {
  const auto lanes = static_cast<double>(p.Number("ARRAY_COLUMNS", 4));
  const auto taps = static_cast<double>(p.Number("DEPTHWISE_MULTIPLIERS", 9));
  const Format &x = p.FormatOf("INPUT_FORMAT"), &w = p.FormatOf("WEIGHT_FORMAT"),
               &sum = p.FormatOf("PSUM_FORMAT");
  // Taps have the products and sums of processing elements. Each is multiplied by the latency of a
  // sum later than the tap before it, so that operands wait.
  const int64_t latency = p.Number("DEPTHWISE_SUM_LATENCY", 1);
  Parameters element;
  element.Set("INPUT_FORMAT", x).Set("WEIGHT_FORMAT", w).Set("PSUM_FORMAT", sum);
  element.Set("PRODUCT_ROUNDED", p.Number("PRODUCT_ROUNDED", 0));
  element.Set("PRODUCT_LATENCY", 1).Set("SUM_LATENCY", latency);
  const double area = ModuleArea("kiln_processing_element", element, fitted);
  const double steps = static_cast<double>(latency) * taps * (taps - 1) / 2;
  return {{"area of taps as elements of the array", lanes * taps * area},
          {"delayed operand bits", lanes * steps * (x.bits + w.bits)},
          {"sum bits", lanes * sum.bits},
          {"taps", taps},
          {"unit", 1}};
}

// The area is almost only bits of instructions: the sections of the instruction that is being
// decoded, and the units' queues, which hold the members that each unit reads. A queue of several
// commands selects one of them. Prefetched words are in a memory.
Features CommandProcessor(const Parameters& p, const Fitted&) {
  // Without integers streams have no zero points and bounds, and narrow scales have fewer bits.
  constexpr double kSectionBits = 4069, kQueuedBits = 5571, kBlockBits = 1408, kIntegerBits = 192;
  constexpr double kStreams = 4, kFp32Bits = 32;
  const double more = HasBlocks(p) * kBlockBits -
                      (p.Number("INTEGER_ELEMENTS", 1) != 0 ? 0 : kIntegerBits) -
                      kStreams * (kFp32Bits - static_cast<double>(p.Number("SCALE_BITS", 32)));
  const auto depth = static_cast<double>(p.Number("COMMAND_QUEUE_DEPTH", 4));
  return {{"processor", 1},
          {"bits of instructions", kSectionBits + more + depth * (kQueuedBits + more)},
          {"bits of commands that wait", (depth - 1) * (kQueuedBits + more)},
          {"bits of a beat", 8 * static_cast<double>(p.Number("INSTRUCTION_BYTES_PER_CYCLE", 16))}};
}

}  // namespace

const std::vector<ModuleModel>& ModuleModels() {
  static const std::vector<ModuleModel> models = {
      {"processing element, integer sums", "kiln_processing_element", "", SumsIntegers,
       WholeElement},
      {"processing element, other sums", "kiln_processing_element", "", SumsReals, RealElement},
      {"skew of the array", "kiln_systolic_array", "kiln_processing_element", Always, Skew},
      {"weight buffer", "kiln_weight_buffer", "", Always, WeightBuffer},
      {"weight loader", "kiln_weight_loader", "", Always, WeightLoader},
      {"array sequencer", "kiln_array_sequencer", "", Always, Sequencer},
      {"accumulators, integers", "kiln_accumulation_buffer", "", AccumulatesIntegers,
       WholeAccumulators},
      {"accumulators, others", "kiln_accumulation_buffer", "", AccumulatesReals, RealAccumulators},
      {"block scales", "kiln_block_scales", "", Always, BlockScalesFeatures},
      {"depthwise unit, integer sums", "kiln_depthwise_cluster", "", SumsIntegers, WholeDepthwise},
      {"depthwise unit, other sums", "kiln_depthwise_cluster", "", SumsReals, RealDepthwise},
      {"input fetch", "kiln_input_fetch", "", Always, InputFetch},
      {"weight fetch", "kiln_weight_fetch", "", Always, WeightFetch},
      {"parameter fetch", "kiln_parameter_fetch", "", Always, ParameterFetch},
      {"read port", "kiln_read_channel", "", Always, ReadChannel},
      {"write port", "kiln_write_channel", "", Always, WriteChannel},
      {"command processor", "kiln_command_processor", "", Always, CommandProcessor},
  };
  static const std::vector<ModuleModel> all = [] {
    std::vector<ModuleModel> both = models;
    both.insert(both.end(), VectorModels().begin(), VectorModels().end());
    return both;
  }();
  return all;
}

const std::vector<FittedModel>& FittedModels() {
  static const std::vector<FittedModel> fitted = {
#include "kiln/targets/systolic/cost/area_coefficients.inc"
  };
  return fitted;
}

double ModuleArea(std::string_view module, const ModuleParameters& parameters,
                  const std::vector<FittedModel>& fitted) {
  return hardware::ModuleArea({ModuleModels(), fitted}, module, parameters);
}

}  // namespace kiln::systolic
