// The features of each module's area model as functions of its parameters, and the models fitted
// to them (area_coefficients.inc).

#include "kiln/targets/dataflow/cost/area_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kiln/hardware/area_features.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/cost/module_counts.h"

namespace kiln::dataflow {
namespace {

using hardware::Always;
using hardware::Features;
using hardware::Real;
using hardware::RealIf;
using Fitted = hardware::Fits;
using Parameters = hardware::ModuleParameters;

// ---- Products and sums

int64_t InBits(const Parameters& p) { return p.Number("IN_BITS", 8); }
int64_t WeightBits(const Parameters& p) { return p.Number("WEIGHT_BITS", 8); }
bool IsPacked(const Parameters& p) { return p.Number("PACK", 1) > 1; }
bool IsSign(const Parameters& p) { return !IsPacked(p) && WeightBits(p) == 1; }
bool IsAdders(const Parameters& p) {
  return !IsPacked(p) && !IsSign(p) &&
         (p.Number("LUT_PRODUCTS", 0) == 1 || InBits(p) <= 2 || WeightBits(p) == 2);
}
bool IsSingle(const Parameters& p) { return !IsPacked(p) && !IsSign(p) && !IsAdders(p); }

MultiplierCounts Multiplier(const Parameters& p) {
  return MultiplierCountsOf(InBits(p), p.Number("IN_SIGNED", 1) == 1, WeightBits(p),
                            p.Number("PACK", 1));
}

// The longer operand is added for each bit of the shorter one but the first.
Features Product(const Parameters& p, const Fitted&) {
  const int64_t in = InBits(p) + p.Number("IN_SIGNED", 1), weight = WeightBits(p);
  const MultiplierCounts counts = Multiplier(p);
  return {{"added bits", Real((std::min(in, weight) - 1) * std::max(in, weight))},
          {"register bits", Real(counts.register_bits)}};
}
Features PackedProducts(const Parameters& p, const Fitted&) {
  const MultiplierCounts counts = Multiplier(p);
  return {{"pairs of multiplied bits", Real(counts.pairs)},
          {"register bits", Real(counts.register_bits)}};
}
// Sums of the longer operand for each bit of the shorter one.
Features ProductOfFewBits(const Parameters& p, const Fitted&) {
  const int64_t shorter = std::min(InBits(p), WeightBits(p)),
                longer = std::max(InBits(p), WeightBits(p));
  return {{"added bits", Real((shorter - 1) * (longer + 1))},
          {"pairs of multiplied bits", Real(shorter * (longer + 1))}};
}
Features Sign(const Parameters& p, const Fitted&) {
  return {{"product bits", Real(InBits(p) + 1)}};
}

Features SumTree(const Parameters& p, const Fitted&) {
  const TreeCounts counts = SumTreeCountsOf(p.Number("TERMS", 4), p.Number("BITS", 8));
  return {{"adder bits", Real(counts.operator_bits)},
          {"register bits", Real(counts.register_bits)}};
}
Features MaxTree(const Parameters& p, const Fitted&) {
  const TreeCounts counts = MaxTreeCountsOf(p.Number("TERMS", 4), p.Number("BITS", 8));
  return {{"compared bits", Real(counts.operator_bits)},
          {"register bits", Real(counts.register_bits)}};
}

// ---- Requantisation

Features Scale(const Parameters& p, const Fitted&) {
  const ScaleCounts counts =
      ScaleCountsOf(p.Number("SUM_BITS", 32), p.Number("C_BITS", 52), p.Number("OUT_BITS", 8),
                    p.Number("MULTIPLIER_BITS", 27));
  return {{"pairs of multiplied bits", Real(counts.pairs)},
          {"register bits", Real(counts.register_bits)}};
}

Features Thresholds(const Parameters& p, const Fitted&) {
  const int64_t sum_bits = p.Number("SUM_BITS", 16);
  const ThresholdCounts counts = ThresholdCountsOf(sum_bits, p.Number("THRESHOLD_BITS", sum_bits),
                                                   p.Number("LEVELS", 4), p.Number("WORDS", 1));
  return {{"compared bits", Real(counts.compared_bits)},
          {"register bits", Real(counts.register_bits)}};
}

// What is around the lanes: the sums' register, the place of the constants, and the delay of the
// push.
Features RequantiseControl(const Parameters& p, const Fitted&) {
  const int64_t lanes = p.Number("LANES", 1), sum_bits = p.Number("SUM_BITS", 32);
  const int64_t way = p.Number("WAY", 1), place_bits = IndexBits(p.Number("WORDS", 1));
  const int64_t held = way == 0   ? std::min(sum_bits, p.Number("OUT_BITS", 8))
                       : way == 2 ? sum_bits
                                  : 0;
  const int64_t delay = way == 0 ? 1 : way == 1 ? 4 : 1 + 2 * p.Number("LEVELS", 4);
  return {{"sum bits", Real(lanes * held)},
          {"place bits", way == 0 ? 0 : Real(place_bits)},
          {"cycles of delay", Real(delay)}};
}

// A memory of constants that is built of gates: a function of the address for each bit of a word.
// Many functions of few addresses are the same by chance; synthesis builds each of them once. A
// deeper memory has fewer gates for each bit that it holds.
Features Rom(const Parameters& p, const Fitted&) {
  const int64_t width = p.Number("WIDTH", 8), depth = p.Number("DEPTH", 16);
  // The one word of such a memory is a constant.
  if (depth == 1) return {{"functions", 0}, {"bits", 0}, {"bits over address bits", 0}};
  const double possible = std::ldexp(1.0, static_cast<int>(std::min<int64_t>(depth, 60)));
  const double functions = -possible * std::expm1(-Real(width) / possible);
  return {{"functions", functions},
          {"bits", functions * Real(depth)},
          {"bits over address bits", functions * Real(depth) / CeilLog2(depth)}};
}

// ---- Windows

Features Rows(const Parameters& p, const Fitted&) {
  const int64_t word = p.Number("LANES", 1) * p.Number("CODE_BITS", 8);
  const int64_t height = p.Number("H", 8), rows = p.Number("KY", 3);
  const int64_t buffered = (rows - 1) * p.Number("DY", 1) + 1 + p.Number("EXTRA_ROWS", 0);
  const int64_t row_bits = CeilLog2(2 * height + buffered + p.Number("SY", 1) + 1) + 2;
  return {{"place bits", Real(IndexBits(p.Number("W", 8) * p.Number("CG", 1)))},
          {"bits of row numbers", Real(row_bits)},
          {"bits of compared rows", Real(rows * row_bits)},
          {"places of a column's words", Real(rows * buffered * word)}};
}

// The bits of the counters of kiln_dataflow_walk.
int64_t WalkBits(int64_t groups, int64_t passes, int64_t parts) {
  return CeilLog2(groups * parts) * (groups > 1 ? 2 : 1) + CeilLog2(parts) + CeilLog2(passes);
}

Features Reader(const Parameters& p, const Fitted&) {
  const int64_t width = p.Number("W", 8), columns = p.Number("KX", 3), stride = p.Number("SX", 1);
  const int64_t padding = p.Number("PL", 1), groups = p.Number("G", 1), parts = p.Number("IG", 1);
  const int64_t out_width = p.Number("OW", 8);
  const int64_t skips = std::max({(columns - 1) * p.Number("DX", 1) - padding,
                                  width - (out_width - 1) * stride - 1, stride - 1}) *
                        groups * parts;
  const int64_t column_bits = CeilLog2(std::max(width, padding) + 1) + 2;
  return {{"reader", 1},
          {"counter bits",
           Real(CeilLog2(skips + 1) + CeilLog2(out_width) + CeilLog2(p.Number("OH", 8)) +
                column_bits + WalkBits(groups, p.Number("OG", 1), parts))},
          {"bits of compared columns", Real(columns * column_bits)}};
}

Features Columns(const Parameters& p, const Fitted&) {
  const int64_t rows = p.Number("KY", 3), columns = p.Number("KX", 3);
  const int64_t column = rows * p.Number("LANES", 1) * p.Number("CODE_BITS", 8);
  const int64_t before = (columns - 1) * p.Number("DX", 1), words = p.Number("CG", 1);
  const bool keeps = p.Number("KEEP", 0) == 1, masks = p.Number("MASK", 1) == 1;
  const int64_t stored = (before + (keeps ? 1 : 0)) * column;
  const bool in_registers = words == 1 || p.Number("MEMORY", 0) == 0;
  return {{"window bits", Real(columns * column)},
          {"masked bits", RealIf(masks, columns * column)},
          {"stored bits", RealIf(in_registers, words * stored)},
          {"selected bits", RealIf(keeps, stored)}};
}

Features Pointwise(const Parameters& p, const Fitted&) {
  const int64_t word = p.Number("WORD_WIDTH", 8), parts = p.Number("IG", 1);
  const int64_t passes = p.Number("OG", 1), groups = p.Number("G", 1);
  const bool keeps = passes > 1 && parts > 1;
  return {{"window", 1},
          {"counter bits", Real(CeilLog2(p.Number("W", 8)) + CeilLog2(p.Number("H", 8)) +
                                CeilLog2(p.Number("SX", 1)) + CeilLog2(p.Number("SY", 1)) +
                                WalkBits(groups, passes, parts))},
          {"word bits", Real(word)},
          {"kept bits", RealIf(keeps && p.Number("MEMORY", 0) == 0, parts * word)}};
}

// ---- Stages

// A convolution without its window, products and requantisation: accumulators, the words of a
// result that wait, the place of the weights, and delays.
Features Convolution(const Parameters& p, const Fitted&) {
  const int64_t elements = p.Number("KY", 3) * p.Number("KX", 3) * p.Number("LANES", 1);
  const int64_t outputs = p.Number("OUTPUTS", 1), lanes = p.Number("RESULT_LANES", 1);
  const int64_t parts = p.Number("IG", 1);
  const int64_t bits = p.Number("ACC_BITS", InBits(p) + WeightBits(p) + CeilLog2(elements * parts));
  const int64_t weights = p.Number("G", 1) * p.Number("OG", 1) * parts;
  const bool streamed = p.Number("STREAMED", 0) == 1;
  return {{"accumulator bits", RealIf(parts > 1, outputs * bits)},
          {"bits of sums", RealIf(parts == 1, outputs * bits)},
          {"bits of waiting sums", Real((outputs - lanes) * bits)},
          {"place bits and cycles of delay",
           Real((streamed ? 0 : IndexBits(weights)) +
                3 * (3 + CeilLog2(elements) + (IsPacked(p) ? 1 : 0)))},
          {"bits of streamed weights", RealIf(streamed, outputs * elements * WeightBits(p))}};
}

Features Depthwise(const Parameters& p, const Fitted&) {
  return {{"place bits", Real(CeilLog2(p.Number("CG", 1)))},
          {"cycles of delay", Real(3 + CeilLog2(p.Number("KY", 3) * p.Number("KX", 3)))}};
}

Features MaxPool(const Parameters& p, const Fitted&) {
  return {{"cycles of delay", Real(2 + CeilLog2(p.Number("KY", 2) * p.Number("KX", 2)))}};
}

Features GlobalSum(const Parameters& p, const Fitted&) {
  const int64_t pixels = p.Number("PIXELS", 49), lanes = p.Number("LANES", 1);
  return {{"stage", 1},
          {"counter bits", Real(CeilLog2(pixels) + CeilLog2(p.Number("CG", 1)))},
          {"code bits", Real(lanes * InBits(p))},
          {"sum bits", Real(lanes * (InBits(p) + 1 + CeilLog2(pixels)))}};
}

// The bits of a number without its sign.
int64_t Length(int64_t number) {
  return std::bit_width(static_cast<uint64_t>(number < 0 ? -number : number));
}

// Returns the sums of a multiplication by a constant. Their number lies between its ones and its
// digits 1 and -1, because the mapping finds some of the differences that replace runs of ones.
double Terms(int64_t factor) {
  const int64_t ones = std::popcount(static_cast<uint64_t>(factor < 0 ? -factor : factor));
  return std::max(0.0, Real(ones + SignedDigits(factor)) / 2 - 1);
}

// Constants decide the widths: products have the bits of code and factor, and what shifts drop of
// the last sum needs no register.
Features Affine(const Parameters& p, const Fitted&) {
  const int64_t lanes = p.Number("LANES", 1), inputs = p.Number("INPUTS", 1);
  const int64_t codes[] = {InBits(p), p.Number("OTHER_BITS", 8)},
                factors[] = {p.Number("M0", 1), p.Number("M1", 1)};
  double terms = 0;
  int64_t registers = 0, sum_bits = 0;
  for (int64_t i = 0; i < inputs; ++i) {
    terms += Terms(factors[i]) * Real(codes[i]);
    const int64_t product = codes[i] + Length(factors[i]);
    registers += codes[i] + product;
    sum_bits = std::max(sum_bits, product + inputs - 1);
  }
  const int64_t offset_bits = std::max(sum_bits, Length(p.Number("C", 0)) + 1) + 1;
  const int64_t shifted_bits = std::max<int64_t>(offset_bits - p.Number("SHIFT", 0), 1);
  registers += sum_bits + shifted_bits + p.Number("OUT_BITS", 8);
  return {{"bits of products' terms", Real(lanes) * terms},
          {"register bits", Real(lanes * registers)},
          {"added bits", Real(lanes * ((inputs - 1) * sum_bits + offset_bits))}};
}

Features Table(const Parameters&, const Fitted&) { return {{"stage", 1}}; }

Features Rearrange(const Parameters& p, const Fitted&) {
  const int64_t words = p.Number("CG", 1), columns = p.Number("W", 8), y = p.Number("FY", 2);
  const bool space = p.Number("SPACE", 0) == 1;
  const int64_t run = space ? words / y : words, repeats = space ? 1 : p.Number("FX", 2);
  return {
      {"stage", 1},
      {"place bits", Real(CeilLog2(2 * columns * words))},
      {"counter bits", Real(CeilLog2(run) + CeilLog2(repeats) + CeilLog2(columns) + CeilLog2(y))}};
}

// ---- Channels and what only moves words

bool HasMemory(const Parameters& p) {
  return p.Number("MEMORY", 0) != 0 && p.Number("DEPTH", 4) > 1;
}
bool HasRegisters(const Parameters& p) { return !HasMemory(p); }

// The bits of the counters of a channel: stored, free, the highest level, and the places.
int64_t ChannelCounterBits(const Parameters& p) {
  const int64_t depth = p.Number("DEPTH", 4);
  const int64_t measured = p.Number("MEASURE", 0) == 1 ? 1 : 0;
  return (2 + measured) * CeilLog2(depth + 1) + 2 * CeilLog2(depth);
}
Features RegisterChannel(const Parameters& p, const Fitted&) {
  const int64_t width = p.Number("WIDTH", 8), depth = p.Number("DEPTH", 4);
  return {{"channel", 1},
          {"counter bits", Real(ChannelCounterBits(p))},
          {"stored bits", Real(width * depth)},
          {"words", Real(depth)}};
}
Features MemoryChannel(const Parameters& p, const Fitted&) {
  return {{"channel", 1},
          {"counter bits", Real(ChannelCounterBits(p))},
          {"word bits", Real(p.Number("WIDTH", 8))}};
}

Features End(const Parameters&, const Fitted&) { return {{"end", 1}}; }
Features Fork(const Parameters& p, const Fitted&) {
  return {{"outputs", Real(p.Number("OUTPUTS", 2))}};
}
Features Concat(const Parameters& p, const Fitted&) {
  const int64_t inputs = p.Number("INPUTS", 2);
  return {{"stage", 1}, {"input bits", Real(inputs * p.Number("WIDTH", 8))}};
}
Features Widen(const Parameters& p, const Fitted&) {
  const int64_t factor = p.Number("FACTOR", 2);
  return {{"counter bits", Real(CeilLog2(factor))},
          {"held bits", Real((factor - 1) * p.Number("WIDTH", 8))}};
}
Features Narrow(const Parameters& p, const Fitted&) {
  const int64_t factor = p.Number("FACTOR", 2);
  return {{"parts", Real(factor)}, {"word bits", Real(factor * p.Number("WIDTH", 8))}};
}
Features Crop(const Parameters& p, const Fitted&) {
  // A counter of a power of two begins again by itself.
  const int64_t words = p.Number("CG", 2), bits = CeilLog2(words);
  return {{"stage", 1},
          {"counter bits", Real(bits)},
          {"bits set back", RealIf(!IsPowerOfTwo(words), bits)}};
}
Features Pad(const Parameters& p, const Fitted&) {
  const int64_t rows = p.Number("PT", 1) + p.Number("H", 8) + p.Number("PB", 1);
  const int64_t columns = p.Number("PL", 1) + p.Number("W", 8) + p.Number("PR", 1);
  const int64_t words = p.Number("PAD_FRONT", 0) + p.Number("CG", 1) + p.Number("PAD_BACK", 0);
  return {{"stage", 1},
          {"counter bits", Real(CeilLog2(rows + 1) + CeilLog2(columns + 1) + CeilLog2(words + 1))},
          {"word bits", Real(p.Number("LANES", 1) * p.Number("CODE_BITS", 8))}};
}

Features WeightStream(const Parameters& p, const Fitted&) {
  const int64_t bytes = CeilDivide(p.Number("WIDTH", 72), 8), port = p.Number("DATA_BYTES", 16);
  const int64_t beats = CeilLog2((bytes + 2 * port - 2) / port + 1);
  return {{"port", 1},
          {"word bits", Real(8 * RoundUp(bytes, port))},
          {"places of a beat", Real(8 * port * CeilLog2(port))},
          {"bits of requests under way",
           Real(p.Number("OUTSTANDING", 32) * (1 + CeilLog2(port) + beats))}};
}

Features Control(const Parameters& p, const Fitted&) {
  return {{"registers", 1},
          {"channels", Real(p.Number("CHANNELS", 1))},
          {"bits of beats' numbers",
           Real(IndexBits(p.Number("IN_BEATS", 64)) + IndexBits(p.Number("OUT_BEATS", 16)))},
          {"streams of weights", Real(p.Number("STREAMS", 1) - 1)}};
}

constexpr const char* kAroundSums =
    "kiln_dataflow_rows kiln_dataflow_reader kiln_dataflow_columns kiln_dataflow_pointwise "
    "kiln_dataflow_multiplier kiln_sum_tree kiln_dataflow_requantise kiln_dataflow_rom";
constexpr const char* kAroundMaxima =
    "kiln_dataflow_rows kiln_dataflow_reader kiln_dataflow_columns kiln_dataflow_pointwise "
    "kiln_dataflow_max_tree";

const std::vector<hardware::ModuleModel>& ModuleModels() {
  static const std::vector<hardware::ModuleModel> models = {
      {"product", "kiln_dataflow_multiplier", "", IsSingle, Product},
      {"packed products", "kiln_dataflow_multiplier", "", IsPacked, PackedProducts},
      {"product of few bits", "kiln_dataflow_multiplier", "", IsAdders, ProductOfFewBits},
      {"product by a sign", "kiln_dataflow_multiplier", "", IsSign, Sign},
      {"tree of sums", "kiln_sum_tree", "", Always, SumTree},
      {"tree of maxima", "kiln_dataflow_max_tree", "", Always, MaxTree},
      {"requantising multiplication", "kiln_dataflow_scale", "", Always, Scale},
      {"requantising thresholds", "kiln_dataflow_thresholds", "kiln_dataflow_rom", Always,
       Thresholds},
      {"requantisation without its lanes", "kiln_dataflow_requantise",
       "kiln_dataflow_rom kiln_dataflow_scale kiln_dataflow_thresholds", Always, RequantiseControl},
      {"constants of gates", "kiln_dataflow_rom", "", Always, Rom},
      {"row buffer", "kiln_dataflow_rows", "", Always, Rows},
      {"reader of windows", "kiln_dataflow_reader", "", Always, Reader},
      {"columns of windows", "kiln_dataflow_columns", "", Always, Columns},
      {"window of one pixel", "kiln_dataflow_pointwise", "", Always, Pointwise},
      {"accumulators", "kiln_dataflow_convolution", kAroundSums, Always, Convolution},
      {"depthwise control", "kiln_dataflow_depthwise", kAroundSums, Always, Depthwise},
      {"pool control", "kiln_dataflow_max_pool", kAroundMaxima, Always, MaxPool},
      {"global sum", "kiln_dataflow_global_sum", "kiln_dataflow_requantise", Always, GlobalSum},
      {"affine", "kiln_dataflow_affine", "", Always, Affine},
      {"table control", "kiln_dataflow_table", "kiln_dataflow_rom", Always, Table},
      {"rearrange", "kiln_dataflow_rearrange", "", Always, Rearrange},
      {"channel of registers", "kiln_dataflow_channel", "", HasRegisters, RegisterChannel},
      {"channel with a memory", "kiln_dataflow_channel", "", HasMemory, MemoryChannel},
      {"source", "kiln_dataflow_source", "", Always, End},
      {"sink", "kiln_dataflow_sink", "", Always, End},
      {"fork", "kiln_dataflow_fork", "", Always, Fork},
      {"concat", "kiln_dataflow_concat", "", Always, Concat},
      {"widen", "kiln_dataflow_widen", "", Always, Widen},
      {"narrow", "kiln_dataflow_narrow", "", Always, Narrow},
      {"crop", "kiln_dataflow_crop", "", Always, Crop},
      {"pad", "kiln_dataflow_pad", "", Always, Pad},
      {"weight stream", "kiln_dataflow_weight_stream", "", Always, WeightStream},
      {"control registers", "kiln_dataflow_control", "", Always, Control},
  };
  return models;
}

const Fitted& FittedModels() {
  static const Fitted fitted = {
#include "kiln/targets/dataflow/cost/area_coefficients.inc"
  };
  return fitted;
}

}  // namespace

hardware::AreaModels FamilyAreaModels() { return {ModuleModels(), FittedModels()}; }

}  // namespace kiln::dataflow
