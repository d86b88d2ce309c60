// Prints the tables of the paper on the binary-weight hourglass accelerator (Cheng et al.,
// Aerospace Shanghai, 2021, DOI 10.19328/j.cnki.2096-8655.2021.04.008) as Markdown, beside what
// Kiln counts.
//
//   build/bench/binary_tables
//
// Counted figures come from TableConvolution::Count and Predict on data that are drawn here;
// paper's figures are written out. docs/binary-tables.md explains the columns.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kiln/support/random.h"
#include "kiln/support/stable_sort.h"
#include "kiln/targets/binary/block/block_cost.h"
#include "kiln/targets/binary/block/chain_traffic.h"
#include "kiln/targets/binary/predict/pooling.h"
#include "kiln/targets/binary/predict/prediction.h"
#include "kiln/targets/binary/predict/step_order.h"
#include "kiln/targets/binary/tables/convolution.h"
#include "kiln/targets/binary/tables/cost_model.h"

namespace kiln::binary {
namespace {

// Returns the value, or ends the program with the error's message.
template <typename T>
T OrExit(StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  fmt::print(stderr, "{}\n", MessageOf(value.status()));
  std::exit(1);
}

// Activations of 8 bits with rectified normal values: half of them are zero.
std::vector<int32_t> RectifiedNormal(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i) {
    const double normal = std::sqrt(-2 * std::log(1 - random.Uniform())) *
                          std::cos(2 * std::numbers::pi * random.Uniform());
    values.push_back(static_cast<int32_t>(std::clamp(std::round(40 * normal), 0.0, 255.0)));
  }
  return values;
}

std::vector<int32_t> RandomSigns(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> signs;
  for (int64_t i = 0; i < count; ++i) signs.push_back(random.Below(2) == 0 ? 1 : -1);
  return signs;
}

// The share of additions that tables save, counted on inputs without a digit that is zero.
double CountedReduction(const WindowShape& shape, int size, Builder builder) {
  const TableFormat format{{WeightCoding::kOdd, 1}, {false, 8}, size, Grouping::kTaps};
  const TableConvolution convolution = OrExit(
      TableConvolution::Create(shape, format, RandomSigns(shape.outputs * shape.window(), 1)));
  const std::vector<int32_t> input(static_cast<size_t>(shape.input_size()), 0x55);
  const TableCounts counts = OrExit(convolution.Count(input, builder));
  return 1 - static_cast<double>(counts.table_additions + counts.accumulations) /
                 static_cast<double>(counts.plain_additions);
}

// Sixty taps are whole groups of every size.
WindowShape WholeGroups(int64_t outputs) {
  WindowShape shape;
  shape.outputs = outputs;
  shape.width = shape.kernel_width = 60;
  return shape;
}

void PrintTable1() {
  fmt::print(
      "## Table 1: weights in a group (reductions in per cent)\n\n"
      "| output channels | group, paper | group, ours | reduction, paper | counted | "
      "Gray walk, counted |\n|---|---|---|---|---|---|\n");
  struct Row {
    int64_t outputs;
    int size;
    double reduction;
  };
  for (const Row& row : {Row{3, 2, 16.67}, Row{8, 2, 37.50}, Row{9, 3, 44.44}, Row{90, 3, 64.44},
                         Row{91, 4, 71.15}}) {
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", row.outputs, row.size,
               BestGroup(row.outputs, kMultiplexerCost), row.reduction,
               100 * CountedReduction(WholeGroups(row.outputs), row.size, Builder::kChain),
               100 * CountedReduction(WholeGroups(row.outputs), row.size, Builder::kGray));
  }
  fmt::print("| infinitely many | 4 | {} | 75.00 | {:.2f} (closed form) | {:.2f} |\n",
             BestGroup(1'000'000, kMultiplexerCost),
             100 * Reduction(4, std::numeric_limits<double>::infinity()),
             100 * Reduction(4, std::numeric_limits<double>::infinity(), Builder::kGray));
  for (Builder builder : kBuilders) {
    fmt::print("\nBest group by output channels, {}:", NameOf(builder));
    for (double k : {0.0, kMultiplexerCost}) {
      fmt::print(" k = {}:", k);
      for (const SwitchPoint& point : SwitchPoints(k, 10000, builder)) {
        fmt::print(" {} from {}", point.size, point.outputs);
      }
      fmt::print(";");
    }
  }
  fmt::print("\n\n");
}

// A layer of AlexNet without groups of channels, on a part of the image.
struct AlexNetLayer {
  const char* name;
  int64_t kernel, stride, channels, outputs;
  double zeros, operations, reduction;  // the paper's: share of zero outputs, 1e9 operations, %
};
constexpr AlexNetLayer kAlexNet[] = {{"Conv1", 11, 4, 3, 96, 0.3870, 0.42, 76.90},
                                     {"Conv2", 5, 1, 96, 256, 0.7250, 0.90, 83.19},
                                     {"Conv3", 3, 1, 256, 384, 0.7930, 0.60, 84.36},
                                     {"Conv4", 3, 1, 384, 384, 0.7760, 0.45, 84.14},
                                     {"Conv5", 3, 1, 384, 256, 0.8077, 0.30, 84.28}};

WindowShape ShapeOf(const AlexNetLayer& layer, int64_t side) {
  WindowShape shape;
  shape.height = shape.width = (side - 1) * layer.stride + layer.kernel;
  shape.channels = layer.channels;
  shape.outputs = layer.outputs;
  shape.kernel_height = shape.kernel_width = layer.kernel;
  shape.stride_y = shape.stride_x = layer.stride;
  return shape;
}

StepSums SumsOf(const WindowShape& shape, const std::vector<int32_t>& weights,
                const std::vector<int32_t>& input, const std::vector<int64_t>& bias) {
  return OrExit(StepSums::Create(shape, {WeightCoding::kOdd, 1}, {false, 8}, weights, input, bias));
}

// Biases for which the share `zeros` of each channel's outputs is not positive.
std::vector<int64_t> BiasFor(const StepSums& sums, double zeros) {
  std::vector<int64_t> bias;
  for (int64_t output = 0; output < sums.outputs(); ++output) {
    std::vector<int64_t> totals;
    for (int64_t position = 0; position < sums.positions(); ++position) {
      totals.push_back(sums.Total(position, output));
    }
    std::sort(totals.begin(), totals.end());
    const auto last = static_cast<size_t>(zeros * static_cast<double>(totals.size()));
    bias.push_back(-totals[std::min(last, totals.size() - 1)]);
  }
  return bias;
}

// One layer with real groups and real prediction.
struct HonestLayer {
  double tables = 0;                     // reduction by tables alone
  PredictionReport exact, zero, budget;  // exact map; threshold 0; trained for 1 % of outputs
  TableCounts counts, gated;             // without and with gates of zero digits
};

HonestLayer MeasureLayer(const AlexNetLayer& layer) {
  constexpr int64_t kSide = 12;  // positions of training and of measurement: 144 each
  const WindowShape shape = ShapeOf(layer, kSide);
  const std::vector<int32_t> weights = RandomSigns(layer.outputs * shape.window(), 2);
  const std::vector<int32_t> training = RectifiedNormal(shape.input_size(), 3);
  const std::vector<int32_t> input = RectifiedNormal(shape.input_size(), 4);
  const std::vector<int64_t> no_bias(static_cast<size_t>(layer.outputs), 0);
  const std::vector<int64_t> bias = BiasFor(SumsOf(shape, weights, training, no_bias), layer.zeros);
  const StepSums trained = SumsOf(shape, weights, training, bias);
  const StepSums sums = SumsOf(shape, weights, input, bias);
  const std::vector<Step> order = StepsBySignificance(sums);
  HonestLayer honest;
  honest.tables = CountedReduction(shape, 4, Builder::kGray);
  honest.exact = Predict(sums, {Mode::kExactMap, order, 1, {}});
  honest.zero = Predict(sums, {Mode::kPredicted, order, 1, no_bias});
  honest.budget =
      Predict(sums, {Mode::kPredicted, order, 1,
                     TrainThresholds(trained, order, 1, {ErrorBudget::Kind::kWrongShare, 0.01})});
  const TableFormat format{{WeightCoding::kOdd, 1}, {false, 8}, 4, Grouping::kTaps};
  const TableConvolution convolution = OrExit(TableConvolution::Create(shape, format, weights));
  honest.gated = OrExit(convolution.Count(input, Builder::kGray));
  const std::vector<int32_t> full(input.size(), 0x55);
  honest.counts = OrExit(convolution.Count(full, Builder::kGray));
  return honest;
}

// The reduction when all tables are built, the first digit is looked up for all outputs, and the
// second one for those that are left.
double WithPrediction(const TableCounts& counts, const TableCounts& plain,
                      const PredictionReport& report) {
  const double work = static_cast<double>(counts.table_additions) +
                      static_cast<double>(counts.look_ups) * (1 - report.saved());
  return 1 - work / static_cast<double>(plain.plain_additions);
}

void PrintTable2() {
  fmt::print(
      "## Table 2: AlexNet with groups of four weights (in per cent)\n\n"
      "| layer | outputs | zeros, paper | reduction, paper | ours, ideal | counted tables "
      "| and ideal |\n|---|---|---|---|---|---|---|\n");
  double operations = 0, left = 0;
  for (const AlexNetLayer& layer : kAlexNet) {
    const double tables = CountedReduction(WholeGroups(layer.outputs), 4, Builder::kChain);
    const double ideal =
        ReductionWithPrediction(4, static_cast<double>(layer.outputs), layer.zeros);
    operations += layer.operations;
    left += layer.operations * (1 - ideal);
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", layer.name,
               layer.outputs, 100 * layer.zeros, layer.reduction, 100 * ideal, 100 * tables,
               100 * (1 - (1 - tables) * (1 - layer.zeros / 2)));
  }
  fmt::print("| total | | | 82.75 | {:.2f} | | |\n\n", 100 * (1 - left / operations));
  fmt::print(
      "Gray walk, groups that end with a channel's taps, tables of both digits built always, and "
      "real prediction on rectified normal inputs with random signs, in per cent. T = 0:\n\n"
      "| layer | zero outputs | tables alone | exact | saved work | wrongly zeroed | reduction |\n"
      "|---|---|---|---|---|---|---|\n");
  std::string trained;  // the second table
  for (const AlexNetLayer& layer : kAlexNet) {
    const HonestLayer honest = MeasureLayer(layer);
    const auto reduction = [&](const PredictionReport& report) {
      return 100 * WithPrediction(honest.counts, honest.counts, report);
    };
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", layer.name,
               100 * honest.budget.zero_share(), 100 * honest.tables, reduction(honest.exact),
               100 * honest.zero.saved(), 100 * honest.zero.wrong_share(), reduction(honest.zero));
    trained += fmt::format("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", layer.name,
                           100 * honest.budget.wrong_share(), 100 * honest.budget.lost_share(),
                           reduction(honest.budget),
                           100 * WithPrediction(honest.gated, honest.counts, honest.budget));
  }
  fmt::print(
      "\nT trained for 1 %:\n\n"
      "| layer | wrongly zeroed | lost value | reduction | with gates |\n"
      "|---|---|---|---|---|\n{}\n",
      trained);
}

// Random signs, rectified normal inputs, some more of them set to zero, 1500 outputs.
void PrintPrediction() {
  fmt::print(
      "## Two-level prediction by window size (in per cent; the last three with T = 0)\n\n"
      "| inputs | zero inputs | static decides | map decides | zeros found | wrongly zeroed | lost "
      "value |\n|---|---|---|---|---|---|---|\n");
  for (int64_t inputs : {27, 144, 324, 648, 1296}) {
    for (double zeros : {0.5, 0.8}) {
      WindowShape shape;
      shape.width = 50;
      shape.channels = inputs;
      shape.outputs = 30;
      std::vector<int32_t> input = RectifiedNormal(shape.input_size(), 11);
      Random random(12);
      for (int32_t& x : input) x = random.Uniform() < 2 * (zeros - 0.5) ? 0 : x;
      const StepSums sums = SumsOf(shape, RandomSigns(shape.outputs * inputs, 13), input,
                                   std::vector<int64_t>(30, 0));
      const std::vector<Step> order = StepsBySignificance(sums);
      const auto decided = [](const PredictionReport& report) {
        return 100.0 * static_cast<double>(report.decided[0] + report.decided[1]) /
               static_cast<double>(report.outputs);
      };
      const PredictionReport zero =
          Predict(sums, {Mode::kPredicted, order, 1, std::vector<int64_t>(30, 0)});
      fmt::print("| {} | {:.0f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.2f} |\n", inputs,
                 100 * zeros, decided(Predict(sums, {Mode::kExactStatic, order, 1, {}})),
                 decided(Predict(sums, {Mode::kExactMap, order, 1, {}})),
                 100 * static_cast<double>(zero.decided[1] - zero.wrongly_zeroed) /
                     static_cast<double>(zero.zeros),
                 100 * zero.wrong_share(), 100 * zero.lost_share());
    }
  }
  fmt::print(
      "\n## Prediction of 2x2 maximum pooling, 3x3 windows of 16 channels\n\n"
      "| lead / exact lead | skipped [%] | saved work [%] | wrong maxima [%] |\n"
      "|---|---|---|---|\n");
  WindowShape shape;
  shape.height = shape.width = 34;
  shape.channels = 16;
  shape.outputs = 32;
  shape.kernel_height = shape.kernel_width = 3;
  const StepSums sums =
      SumsOf(shape, RandomSigns(shape.outputs * shape.window(), 21),
             RectifiedNormal(shape.input_size(), 22), std::vector<int64_t>(32, 0));
  const std::vector<Step> order = StepsBySignificance(sums);
  const int64_t exact = ExactLead(sums, order, 1);
  for (const double part : {0.0, 0.02, 0.05, 0.1, 0.2, 1.0}) {
    const PoolReport report =
        PredictMaximum(sums, order, 1, static_cast<int64_t>(part * static_cast<double>(exact)), {});
    const auto share = [](int64_t a, int64_t b) {
      return 100 * static_cast<double>(a) / static_cast<double>(b);
    };
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} |\n", part,
               share(report.skipped, report.candidates), 100 * report.saved(),
               share(report.wrong, report.pools));
  }
  fmt::print("\n");
}

// Returns all steps in an order of planes, within each the digits, or of digits, within each the
// planes; the most significant ones first.
std::vector<Step> StepsByPart(const StepSums& sums, bool planes_first) {
  std::vector<Step> order;
  for (int plane = sums.planes() - 1; plane >= 0; --plane) {
    for (int digit = sums.digits() - 1; digit >= 0; --digit) order.push_back({plane, digit});
  }
  if (!planes_first) StableSort(&order, [](Step a, Step b) { return a.digit > b.digit; });
  return order;
}

void PrintOrders() {
  fmt::print(
      "## Orders of steps\n\n3x3 windows, normal weights, activations of 8 bits; steps of an "
      "output "
      "with the bound of the map\n\n"
      "| weights | channels | steps | by significance | planes first | digits first | best | "
      "orders | "
      "sets |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const int bits : {2, 4, 8}) {
    for (const int channels : {3, 16}) {
      WindowShape shape;
      shape.height = shape.width = 18;
      shape.channels = channels;
      shape.outputs = 16;
      shape.kernel_height = shape.kernel_width = 3;
      const WeightFormat format = {WeightCoding::kSigned, bits};
      Random random(31);
      std::vector<int32_t> weights;
      for (int64_t i = 0; i < shape.outputs * shape.window(); ++i) {
        const double normal = std::sqrt(-2 * std::log(1 - random.Uniform())) *
                              std::cos(2 * std::numbers::pi * random.Uniform());
        const double code = std::round(normal * static_cast<double>(format.highest()) / 3);
        weights.push_back(
            static_cast<int32_t>(std::clamp<double>(code, format.lowest(), format.highest())));
      }
      const StepSums sums = OrExit(StepSums::Create(shape, format, {false, 8}, weights,
                                                    RectifiedNormal(shape.input_size(), 32),
                                                    std::vector<int64_t>(16, 0)));
      const std::vector<double> costs(static_cast<size_t>(sums.steps()), 1);
      const auto cost = [&](const std::vector<Step>& order) {
        return CostOfOrder(sums, Bound::kMap, costs, order);
      };
      const StepOrder best = BestOrder(sums, Bound::kMap, costs);
      fmt::print("| int{} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.0f} | {} |\n", bits,
                 channels, sums.steps(), cost(StepsBySignificance(sums)),
                 cost(StepsByPart(sums, true)), cost(StepsByPart(sums, false)), best.cost,
                 best.orders, best.states);
    }
  }
  fmt::print("\n");
}

Chain HourglassModule() {
  Chain chain;
  chain.width = chain.height = 64;
  chain.inputs = 144;
  chain.layers = {{72, 3}, {36, 3}, {36, 3}};
  chain.residual = true;
  return chain;
}

void PrintBlocks() {
  struct Row {
    BlockLayer layer;
    Block block;
    int64_t products;
  };
  const Row rows[] = {{{144, 72, 64, 64, 3, 8, 1, 16}, {6, 4, 48}, 27 * 128},
                      {{72, 36, 64, 64, 3, 8, 1, 16}, {4, 4, 24}, 27 * 32},
                      {{36, 36, 64, 64, 3, 8, 1, 16}, {4, 4, 12}, 27 * 16}};
  fmt::print(
      "## Blocks of the hourglass module (64x64, 8 bits)\n\n"
      "r = B_p (P_r + P_w) / (B_w P_r) is the price of a partial sum against a weight. The limit "
      "is "
      "the products of the layer's processing elements (27 each). The last four columns are the "
      "best blocks for one r.\n\n"
      "| layer | paper's block | products / limit | best for r | r = 2 | r = 20 | r = 32 | r = 200 "
      "|\n|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const RatioRange range = RatiosFor(row.layer, row.block, row.products);
    fmt::print(
        "| {}->{} | {}x{}x{} | {} / {} | {} |", row.layer.inputs, row.layer.outputs,
        row.block.width, row.block.height, row.block.channels,
        NeedsOfBlock(row.layer, row.block).products, row.products,
        range.low <= range.high ? fmt::format("{:.2f} .. {:.2f}", range.low, range.high) : "none");
    for (int64_t ratio : {2, 20, 32, 200}) {
      BlockLayer layer = row.layer;
      layer.partial_bits = ratio / 2;  // equal prices of reading and writing
      const BlockPlan plan =
          OrExit(BestBlocks(std::vector{layer}, {1, 1},
                            {std::numeric_limits<int64_t>::max() / 2, {row.products}, 0}));
      fmt::print(" {}x{}x{} |", plan.blocks[0].width, plan.blocks[0].height,
                 plan.blocks[0].channels);
    }
    fmt::print("\n");
  }
  std::vector<BlockLayer> layers;
  for (const Row& row : rows) layers.push_back(row.layer);
  fmt::print(
      "\nAll three layers within 27 * 176 products, by SRAM:\n\n"
      "| SRAM limit [bytes] | blocks | SRAM [bytes] | products | cost | joined plans, of all sizes "
      "|\n|---|---|---|---|---|---|\n");
  for (int64_t bytes : {600, 800, 1000, 1500, 2000}) {
    const BlockPlan plan = OrExit(BestBlocks(layers, {1, 1}, {bytes * 8, {}, 27 * 176}));
    std::string blocks;
    for (const Block& block : plan.blocks) {
      blocks += fmt::format("{}x{}x{} ", block.width, block.height, block.channels);
    }
    fmt::print("| {} | {}| {} | {} | {} | {} of {:.2g} |\n", bytes, blocks,
               plan.needs.sram_bits / 8, plan.needs.products, plan.cost, plan.joined, plan.covered);
  }
  fmt::print("\n");
}

void PrintTraffic() {
  const Chain chain = HourglassModule();
  const ChainTraffic layers = TrafficLayerByLayer(chain), rows = TrafficOfRows(chain, 1);
  const auto kilobytes = [](int64_t bits) { return static_cast<double>(bits) / 8000; };
  const auto less = [](int64_t ours, int64_t other) {
    return 100 * (1 - static_cast<double>(ours) / static_cast<double>(other));
  };
  fmt::print(
      "## Ways to compute the hourglass module\n\n"
      "| way | external traffic [kB] | store [kB] | of it activations | products [1e6] | accesses "
      "[1e6] |\n|---|---|---|---|---|---|\n");
  std::string savings;  // the second table
  const auto print = [&](const std::string& name, const ChainTraffic& way) {
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", name,
               kilobytes(way.external_bits()), kilobytes(way.store_bits()),
               kilobytes(way.row_bits + way.skip_bits), static_cast<double>(way.products) / 1e6,
               static_cast<double>(way.accesses) / 1e6);
    savings += fmt::format("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", name,
                           less(rows.external_bits(), way.external_bits()),
                           less(rows.store_bits(), way.store_bits()),
                           less(rows.row_bits + rows.skip_bits, way.row_bits + way.skip_bits),
                           less(rows.accesses, way.accesses));
  };
  print("layer by layer", layers);
  for (int64_t tile : {4, 8, 16, 32, 64}) {
    print(fmt::format("fused tiles {0}x{0}", tile), TrafficOfTiles(chain, tile, tile));
  }
  print("row pipeline, 3.5 rows", rows);
  fmt::print(
      "\nWhat rows save against each way, in per cent:\n\n"
      "| way | traffic | store | activation store | accesses |\n|---|---|---|---|---|\n{}"
      "| paper's claims | 66.2 against layer by layer | 60 against fused | | 31 against fused |\n",
      savings);
  Chain large = chain;
  large.width = large.height = 1024;
  const ChainTraffic tiles = TrafficOfTiles(large, 16, 16), pipeline = TrafficOfRows(large, 1);
  fmt::print(
      "\nOn 1024x1024 pixels, rows save {:.1f} % of the products and {:.1f} % of the accesses of "
      "tiles of 16x16.\n",
      less(pipeline.products, tiles.products), less(pipeline.accesses, tiles.accesses));
}

}  // namespace
}  // namespace kiln::binary

int main() {
  kiln::binary::PrintTable1();
  kiln::binary::PrintTable2();
  kiln::binary::PrintPrediction();
  kiln::binary::PrintOrders();
  kiln::binary::PrintBlocks();
  kiln::binary::PrintTraffic();
}
